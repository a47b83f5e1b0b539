pub(crate) mod fake;
