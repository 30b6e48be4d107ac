"""Configuration spaces, one file each; the file name is the name that studies use."""
