"""Thirteen years of change: the loads of CableLabs 2012 on the equipment of 2012 and of today. See README.md."""
