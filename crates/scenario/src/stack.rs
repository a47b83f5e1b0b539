//! A user-defined TCP stack: a preset and the parameters that differ from it.

use crate::nearest::unknown;
use crate::typed::typed;
use packet::outside::Supplied;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tcp::foreign::ControllerFactory;
use units::Problem;

/// A TCP stack of your own. It consists of a preset and the parameters that differ from the preset. Applications select
/// the stack by its name. `bloatlab list tcp` lists the presets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// The preset to start from.
    pub preset: String,
    /// Parameters that differ from the preset.
    #[serde(flatten)]
    #[schemars(with = "tcp::TcpParams")]
    pub differs: BTreeMap<String, Value>,
    /// The factory of the stack's controllers, if they are external.
    #[serde(skip)]
    factory: Supplied<dyn ControllerFactory>,
}

impl Stack {
    /// Returns true if the stack has an external controller.
    pub fn has_outside(&self) -> bool {
        self.differs.get("python").is_some_and(|python| !python.is_null())
    }

    /// Checks that a run can use the stack.   Errors: those of [`Stack::resolve`]; an external controller that was not supplied.
    pub fn ready(&self) -> Result<(), Problem> {
        self.resolve()?.ready()
    }

    /// Supplies the factory of the stack's external controllers.
    pub fn supply(&mut self, factory: Arc<dyn ControllerFactory>) {
        self.factory = Supplied::by(factory);
    }

    /// Returns all parameters of the stack.   Errors: an unknown preset, an unknown parameter, an invalid value.
    pub fn resolve(&self) -> Result<tcp::TcpParams, Problem> {
        let base = tcp::TcpParams::preset(&self.preset).ok_or_else(|| {
            let known: Vec<&str> = tcp::PRESETS.iter().map(|p| p.0).collect();
            Problem::new("preset", unknown_stack("preset", &self.preset, &known))
        })?;
        let mut tree = serde_json::to_value(&base).map_err(|e| Problem::new("", e.to_string()))?;
        if let Some(map) = tree.as_object_mut() {
            for (key, value) in &self.differs {
                if !map.contains_key(key) {
                    let known: Vec<&str> = map.keys().map(String::as_str).collect();
                    let message = match as_value(key, map) {
                        Some(of) => format!("unknown parameter \"{key}\"; did you mean `{of} = \"{key}\"`?"),
                        None => unknown("parameter", key, &known),
                    };
                    return Err(Problem::new(key, message));
                }
                map.insert(key.clone(), value.clone());
            }
            if self.has_outside() && !self.differs.contains_key("congestion_control") {
                map.insert("congestion_control".to_owned(), tcp::CongestionControl::Python.word().into());
            }
        }
        let mut stack = typed::<tcp::TcpParams>(tree)?;
        if let Some(outside) = stack.outside() {
            outside.supply(self.factory.clone());
        }
        Ok(stack.with_options())
    }
}

/// Returns a sentence about an unknown name. `what` is the kind of name that is expected: a preset or a TCP stack. If
/// the name is that of a congestion control, the sentence shows how to choose the control.
pub(crate) fn unknown_stack(what: &str, given: &str, known: &[&str]) -> String {
    if !tcp::CongestionControl::ALL.iter().any(|control| control.word() == given) {
        return unknown(what, given, known);
    }
    let own = format!("tcp.NAME = {{ preset = \"linux-6\", congestion_control = \"{given}\" }}");
    format!("\"{given}\" is a congestion control, not a {what}; choose it in a stack of your own: {own}")
}

/// Returns the parameter whose values include `word`, if there is one (`accecn` is a value of `ecn_feedback`).
fn as_value<'a>(word: &str, parameters: &'a serde_json::Map<String, Value>) -> Option<&'a str> {
    let takes = |key: &&String| {
        let mut tree = parameters.clone();
        tree.insert((*key).clone(), word.into());
        typed::<tcp::TcpParams>(Value::Object(tree)).is_ok()
    };
    parameters.keys().find(takes).map(String::as_str)
}
