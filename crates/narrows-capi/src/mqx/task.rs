//! Tasks: each thread that calls is one, until it ends.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use narrows_host::mqx::Task;

use super::component::Component;

/// The task of a thread.
struct Current {
    component: &'static Component,
    task: Rc<Task>,
}

/// As in MQX, its queues and its messages end with a task.
impl Drop for Current {
    fn drop(&mut self) {
        // A forked child has no part in its parent's.
        if self.component.is_ours() {
            self.task.end();
            self.component.forget(self.task.number());
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
    static NOTIFIED: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread's task.
pub(super) fn of(component: &'static Component) -> Rc<Task> {
    let known = |current: &RefCell<Option<Current>>| {
        let mut current = current.borrow_mut();
        let known = current.as_ref().filter(|it| std::ptr::eq(it.component, component));
        if let Some(current) = known {
            return Rc::clone(&current.task);
        }
        let task = Rc::new(component.processor.task());
        *current = Some(Current { component, task: Rc::clone(&task) });
        task
    };
    // A thread that has all but ended is a task for one call.
    CURRENT.try_with(known).unwrap_or_else(|_| Rc::new(component.processor.task()))
}

/// Runs a notification function, which must not wait.
pub(super) fn notify(function: impl FnOnce()) {
    let before = NOTIFIED.with(|notified| notified.replace(true));
    function();
    NOTIFIED.with(|notified| notified.set(before));
}

/// Whether a notification function calls.
pub(super) fn is_notified() -> bool {
    NOTIFIED.with(Cell::get)
}
