"""CableLabs 2012: CoDel on a DOCSIS 3.0 cable modem. See README.md beside this file."""
