// SPDX-License-Identifier: MIT
//! Events of a Rust program, without a crate: the library's builder (<side/builder.h>) and the ABI's structures.
//!
//!     rustc -O events.rs -l side -L $(pkg-config --variable=libdir libside)
//!     side record -o trace -- ./events
//!
//! An event is described when it is first met. While nobody listens, emitting it is one load and one branch.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::Once;

#[link(name = "side")]
extern "C" {
    fn side_builder_create(provider: *const c_char, event: *const c_char, loglevel: c_int, flags: u64) -> *mut c_void;
    fn side_builder_add_field(builder: *mut c_void, into: *mut c_void, name: *const c_char, kind: *mut c_void) -> c_int;
    fn side_builder_integer(builder: *mut c_void, size: c_uint, signed: c_int, order: c_int) -> *mut c_void;
    fn side_builder_float(builder: *mut c_void, size: c_uint, order: c_int) -> *mut c_void;
    fn side_builder_string(builder: *mut c_void, unit_size: c_uint, order: c_int) -> *mut c_void;
    fn side_builder_register(builder: *mut c_void) -> c_int;
    fn side_builder_error(builder: *const c_void) -> *const c_char;
    fn side_builder_state(builder: *const c_void) -> *const State;
    fn side_call(state: *const State, args: *const Vector);
}

/// struct side_event_state_0, as far as a call site looks.
#[repr(C)]
struct State {
    version: u32,
    nr_callbacks: u32,
    enabled: AtomicUsize,
}

/// struct side_arg: a label, flags, and 60 bytes for the value.
#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Arg {
    label: u16,
    flags: u16,
    value: [u8; 60],
}

/// struct side_arg_vec: a pointer in a slot of 16 bytes (here of a little-endian host), and a number.
#[repr(C, packed)]
struct Vector {
    args: *const Arg,
    rest: [u8; 16 - std::mem::size_of::<usize>()],
    len: u32,
}

#[derive(Clone, Copy)]
pub enum Kind {
    U32,
    I64,
    F64,
    Str,
}

pub enum Value<'a> {
    U32(u32),
    I64(i64),
    F64(f64),
    Str(&'a CStr),
}

impl Value<'_> {
    fn arg(&self) -> Arg {
        let mut arg = Arg { label: 0, flags: 0, value: [0; 60] };
        let mut put = |label: u16, bytes: &[u8]| {
            arg.label = label;
            arg.value[..bytes.len()].copy_from_slice(bytes);
        };
        match self {
            Value::U32(v) => put(4, &v.to_ne_bytes()),
            Value::I64(v) => put(10, &v.to_ne_bytes()),
            Value::F64(v) => put(16, &v.to_ne_bytes()),
            Value::Str(v) => put(18, &(v.as_ptr() as usize).to_ne_bytes()),
        }
        arg
    }
}

pub struct Event {
    state: *const State,
}
// The state lives as long as the process, and is changed by the library with atomic operations only.
unsafe impl Send for Event {}
unsafe impl Sync for Event {}

impl Event {
    pub fn new(provider: &str, name: &str, fields: &[(&str, Kind)]) -> Event {
        let text = |s: &str| CString::new(s).expect("a name has no NUL");
        let order = cfg!(target_endian = "big") as c_int;
        unsafe {
            let builder = side_builder_create(text(provider).as_ptr(), text(name).as_ptr(), 6 /* info */, 0);
            for (name, kind) in fields {
                let kind = match kind {
                    Kind::U32 => side_builder_integer(builder, 4, 0, order),
                    Kind::I64 => side_builder_integer(builder, 8, 1, order),
                    Kind::F64 => side_builder_float(builder, 8, order),
                    Kind::Str => side_builder_string(builder, 1, order),
                };
                side_builder_add_field(builder, std::ptr::null_mut(), text(name).as_ptr(), kind);
            }
            if side_builder_register(builder) != 0 {
                panic!("{}", CStr::from_ptr(side_builder_error(builder)).to_string_lossy());
            }
            Event { state: side_builder_state(builder) }
        }
    }

    /// Does anybody listen?
    #[inline]
    pub fn enabled(&self) -> bool {
        unsafe { (*self.state).enabled.load(Ordering::Relaxed) != 0 }
    }

    /// The values are those of the fields, in their order.
    pub fn emit<const N: usize>(&self, values: [Value; N]) {
        let args: [Arg; N] = std::array::from_fn(|i| values[i].arg());
        let vector = Vector { args: args.as_ptr(), rest: [0; 16 - std::mem::size_of::<usize>()], len: N as u32 };
        unsafe { side_call(self.state, &vector) }
    }
}

fn order() -> &'static Event {
    static ONCE: Once = Once::new();
    static EVENT: AtomicPtr<Event> = AtomicPtr::new(std::ptr::null_mut());
    ONCE.call_once(|| {
        let fields = [("number", Kind::U32), ("change", Kind::I64), ("price", Kind::F64), ("article", Kind::Str)];
        EVENT.store(Box::into_raw(Box::new(Event::new("shop", "order", &fields))), Ordering::Release);
    });
    unsafe { &*EVENT.load(Ordering::Acquire) }
}

fn main() {
    let number = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10);
    for i in 0..number {
        let event = order();
        if event.enabled() {
            let article = CString::new(format!("article {}", i % 3)).unwrap();
            event.emit([Value::U32(i), Value::I64(-(i as i64)), Value::F64(i as f64 * 0.5), Value::Str(&article)]);
        }
    }
}
