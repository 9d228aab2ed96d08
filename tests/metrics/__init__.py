"""Tests of the metrics; a package so that the slow, literal versions can be shared."""
