"""Runs the loads of CableLabs 2012 on the equipment of 2012 and on that of today. See README.md."""
