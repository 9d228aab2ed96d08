"""The version of this package, as files and results note it."""

VERSION = "0.1.0"
