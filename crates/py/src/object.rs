//! Objects of a user's Python classes that take part in a run: how they are created and copied, how their methods are
//! called, and how failures are reported.
//!
//! Python reads the user's file and passes a callable that makes a new object ([`Class`]). A run with such objects keeps the GIL.
//! The first error in one of them is stored. From then on, no method of any object is called, and the run ends at the next progress
//! check. Times are integers in nanoseconds in both languages.

use crate::error::{FirstError, Mistake, one_line, shown};
use packet::{Reading, Unit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

pyo3::create_exception!(
    _core,
    ClassFailure,
    pyo3::exceptions::PyException,
    "A class of the user failed in a run. Its arguments: the key of its factory, the method, the mistake (None if it has a cause), \
     and the place in the run (None if it has none)."
);

/// A user's Python class, with the parameters that one table of a scenario gives it.
#[derive(Clone)]
pub(crate) struct Class {
    /// The callable that returns a new object of the class.
    make: Arc<Py<PyAny>>,
    /// The key of the table that names the class, for example "link.up".
    pub(crate) key: Arc<str>,
    pub(crate) error: FirstError,
}

impl Class {
    pub(crate) fn new(make: Py<PyAny>, key: String, error: FirstError) -> Self {
        Self { make: Arc::new(make), key: key.into(), error }
    }

    /// Returns an attribute of `make`, the callable that creates the objects.
    pub(crate) fn attribute<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.make.bind(py).getattr(name)
    }

    /// Returns a copy of the class. If a fork is in progress, the copy stores errors in the fork; otherwise it stores
    /// them in the same run as the original.
    pub(crate) fn forked(&self) -> Self {
        let error = FORK.with_borrow(|fork| fork.as_ref().map(|fork| fork.error.clone()));
        Self { error: error.unwrap_or_else(|| self.error.clone()), ..self.clone() }
    }

    /// Stores the exception to raise for a mistake. A `KeyboardInterrupt` (Ctrl-C) is stored unchanged. For any other
    /// mistake, a `ClassFailure` is stored; its cause is the exception that the method raised, if it raised one.
    /// `place` describes where in the run the mistake happened.
    pub(crate) fn fail(&self, py: Python<'_>, method: &str, mistake: Mistake, place: Option<String>) {
        let failure =
            |text: Option<String>| ClassFailure::new_err((self.key.to_string(), method.to_owned(), text, place));
        self.error.store(match mistake {
            Mistake::Raised(error) if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => error,
            Mistake::Raised(error) => {
                let failure = failure(None);
                failure.set_cause(py, Some(error));
                failure
            }
            Mistake::Value(text) => failure(Some(text)),
        });
    }
}

/// An object of a user's class, and the methods that it has, out of `N` possible methods. Methods that the class lacks cost no
/// time.
pub(crate) struct Object<const N: usize> {
    pub(crate) class: Class,
    pub(crate) own: Py<PyAny>,
    names: &'static [&'static str; N],
    methods: [Option<Py<PyAny>>; N],
}

impl<const N: usize> Object<N> {
    /// Creates an object of `class`. `names` are the names of the methods that the object may have.   Errors:
    /// `__init__` raised an exception.
    pub(crate) fn new(py: Python<'_>, class: &Class, names: &'static [&'static str; N]) -> Result<Self, Mistake> {
        Ok(Self::of(class.clone(), &class.make.bind(py).call0()?, names)?)
    }

    fn of(class: Class, own: &Bound<'_, PyAny>, names: &'static [&'static str; N]) -> PyResult<Self> {
        let mut methods = [const { None }; N];
        for (method, name) in methods.iter_mut().zip(names) {
            *method = own.getattr_opt(*name)?.map(Bound::unbind);
        }
        Ok(Self { class, own: own.clone().unbind(), names, methods })
    }

    pub(crate) fn has(&self, method: usize) -> bool {
        self.methods[method].is_some()
    }

    /// Returns the method, if the object has it and no object of the run has failed.
    #[inline]
    pub(crate) fn method(&self, method: usize) -> Option<&Py<PyAny>> {
        self.methods[method].as_ref().filter(|_| !self.class.error.is_set())
    }

    pub(crate) fn fail(&self, py: Python<'_>, method: usize, mistake: Mistake, place: Option<String>) {
        self.class.fail(py, self.names[method], mistake, place);
    }

    /// Copies the object with `copy.deepcopy`, for the fork in progress. `kind` describes the object. If the copy fails, stores
    /// the error in the fork, and returns `None`.
    pub(crate) fn copy(&self, py: Python<'_>, kind: &str) -> Option<Self> {
        let class = self.class.forked();
        let memo = FORK.with_borrow(|fork| {
            fork.as_ref().expect("runs with objects in Python are cloned by `forked`").memo.clone_ref(py)
        });
        let copied = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (&self.own, memo)));
        match copied.and_then(|own| Self::of(class.clone(), &own, self.names)) {
            Ok(object) => Some(object),
            Err(raised) => {
                let why = one_line(py, &raised);
                let text = format!("this {kind} cannot be forked, because copy.deepcopy raised {why}");
                class.fail(py, "__deepcopy__", Mistake::Value(text), None);
                None
            }
        }
    }

    /// Calls the object's `probe` method, which returns a dict of names and values, and reports these values to `out`.
    /// `probe` is the index of this method in the list of method names. `columns` are the columns that the table has
    /// without this object; their names are refused. Numbers are reported without a unit, because the names already
    /// include the unit.
    pub(crate) fn probe(&self, probe: usize, columns: &[&str], out: &mut Reading<'_>) {
        let Some(method) = self.method(probe) else { return };
        Python::attach(|py| {
            let state = method.bind(py).call0().map_err(Mistake::from);
            if let Err(mistake) = state.and_then(|state| report(&state, columns, out)) {
                self.fail(py, probe, mistake, None);
            }
        });
    }
}

/// Reports the values in `state`, which `probe()` returned, to `out`.
fn report(state: &Bound<'_, PyAny>, columns: &[&str], out: &mut Reading<'_>) -> Result<(), Mistake> {
    let invalid =
        |what: String| Mistake::Value(format!("probe returned {what}; expected a dict of names, and numbers or words"));
    let values = state.cast::<PyDict>().map_err(|_| invalid(shown(state)))?;
    for (key, value) in values {
        let name = key.extract::<String>().ok().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| invalid(format!("the key {}", shown(&key))))?;
        if columns.contains(&name.as_str()) {
            let text = format!("probe returned the name \"{name}\"; the trace already has a column of this name");
            return Err(Mistake::Value(text));
        }
        if value.is_none() {
            out.value(&name, Unit::One, None);
        } else if let Ok(flag) = value.cast::<PyBool>() {
            out.flag(&name, flag.is_true());
        } else if let Ok(number) = value.extract::<f64>() {
            out.value(&name, Unit::One, Some(number));
        } else if let Ok(word) = value.cast::<PyString>() {
            out.word(&name, word.to_str().map_err(Mistake::from)?);
        } else {
            return Err(invalid(format!("{} for \"{}\"", shown(&value), units::shown(&name))));
        }
    }
    Ok(())
}

/// The state that exists only while a run is cloned. All copies of the run's objects share it.
struct Fork {
    error: FirstError,
    /// The memo of `copy.deepcopy`, so that an object shared by two others is copied once.
    memo: Py<PyDict>,
    shared: Vec<(Arc<str>, Arc<dyn Any + Send + Sync>)>,
}

thread_local! {
    static FORK: RefCell<Option<Fork>> = const { RefCell::new(None) };
}

/// The fork, if any, that was in progress when another fork began within it. Dropping this value, even in a panic, makes
/// the outer fork current again.
struct Outer(Option<Fork>);

impl Drop for Outer {
    fn drop(&mut self) {
        FORK.set(self.0.take());
    }
}

/// Clones a run with `clone`; returns the clone, and the store for the first error of the clone's objects. If an object of the
/// run holds another run, `copy.deepcopy` forks that run too, within this fork.   Errors: an object cannot be copied.
pub(crate) fn forked<T>(py: Python<'_>, clone: impl FnOnce() -> T) -> PyResult<(T, FirstError)> {
    let error = FirstError::default();
    let fork = Fork { error: error.clone(), memo: PyDict::new(py).unbind(), shared: Vec::new() };
    let outer = Outer(FORK.replace(Some(fork)));
    let run = clone();
    drop(outer);
    error.raise()?;
    Ok((run, error))
}

/// Gives the fork in progress its own copy of a value that several parts of a run share. The first call with a given
/// `key` stores `copy` and returns it. Later calls with this key return the stored copy, so the parts of the fork share
/// a single copy too.
pub(crate) fn shared_copy<T: Send + Sync + 'static>(key: &Arc<str>, copy: T) -> Arc<T> {
    FORK.with_borrow_mut(|fork| {
        let fork = fork.as_mut().expect("runs with objects in Python are cloned by `forked`");
        let known = fork.shared.iter().find(|(name, _)| name == key).map(|(_, of)| of.clone());
        known.and_then(|of| of.downcast().ok()).unwrap_or_else(|| {
            let copy = Arc::new(copy);
            fork.shared.push((key.clone(), copy.clone()));
            copy
        })
    })
}
