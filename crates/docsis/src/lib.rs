//! The DOCSIS 3.0 service flow as pure machines.
