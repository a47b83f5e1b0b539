"""L4S: RFC 9330, RFC 9332 and the L4S tests' tables. See README.md beside this file."""
