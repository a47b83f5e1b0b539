"""What thirteen years have changed: the loads of CableLabs 2012 on the equipment of then and of today. See README.md."""
