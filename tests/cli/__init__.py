"""Tests of the command line; a package, so that the modules can share names with those of other folders."""
