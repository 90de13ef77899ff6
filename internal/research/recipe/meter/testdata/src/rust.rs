// A WASI command without a library, not even core: loops of known size.
//   gauss   10 * 20 * 30 turns of 1 multiplication and 1 subtraction of f64: 12000
//   horner  500 turns of 1 multiplication and 1 addition of f32:              1000
// It traps if a result is wrong. Sum: 13000.
#![feature(no_core, lang_items, intrinsics, rustc_attrs)]
#![no_core]
#![no_std]
#![crate_type = "cdylib"]
#![allow(internal_features)]

#[lang = "pointee_sized"] pub trait PointeeSized {}
#[lang = "meta_sized"] pub trait MetaSized: PointeeSized {}
#[lang = "sized"] pub trait Sized: MetaSized {}
#[lang = "copy"] pub trait Copy {}
#[lang = "legacy_receiver"] pub trait LegacyReceiver {}
impl<T: PointeeSized> LegacyReceiver for &T {}
impl Copy for f64 {}
impl Copy for f32 {}
impl Copy for u32 {}
impl Copy for bool {}
impl<T> Copy for *mut T {}

#[lang = "add"] pub trait Add<Rhs = Self> { type Output; fn add(self, o: Rhs) -> Self::Output; }
#[lang = "sub"] pub trait Sub<Rhs = Self> { type Output; fn sub(self, o: Rhs) -> Self::Output; }
#[lang = "mul"] pub trait Mul<Rhs = Self> { type Output; fn mul(self, o: Rhs) -> Self::Output; }
#[lang = "eq"] pub trait PartialEq<Rhs = Self> { fn eq(&self, o: &Rhs) -> bool; fn ne(&self, o: &Rhs) -> bool; }
#[lang = "partial_ord"] pub trait PartialOrd<Rhs = Self>: PartialEq<Rhs> { fn lt(&self, o: &Rhs) -> bool; }
impl Add for f64 { type Output = f64; fn add(self, o: f64) -> f64 { self + o } }
impl Sub for f64 { type Output = f64; fn sub(self, o: f64) -> f64 { self - o } }
impl Mul for f64 { type Output = f64; fn mul(self, o: f64) -> f64 { self * o } }
impl Add for f32 { type Output = f32; fn add(self, o: f32) -> f32 { self + o } }
impl Mul for f32 { type Output = f32; fn mul(self, o: f32) -> f32 { self * o } }
impl PartialEq for f64 { fn eq(&self, o: &f64) -> bool { *self == *o } fn ne(&self, o: &f64) -> bool { *self != *o } }
impl PartialEq for f32 { fn eq(&self, o: &f32) -> bool { *self == *o } fn ne(&self, o: &f32) -> bool { *self != *o } }
impl PartialEq for u32 { fn eq(&self, o: &u32) -> bool { *self == *o } fn ne(&self, o: &u32) -> bool { *self != *o } }
impl PartialOrd for u32 { fn lt(&self, o: &u32) -> bool { *self < *o } }

#[lang = "drop_in_place"] #[allow(unconditional_recursion)]
unsafe fn drop_in_place<T: PointeeSized>(to: *mut T) { drop_in_place(to) }

#[rustc_intrinsic]
pub fn wrapping_add<T: Copy>(a: T, b: T) -> T;
#[rustc_intrinsic]
pub fn abort() -> !;
#[rustc_intrinsic]
pub unsafe fn volatile_load<T>(p: *const T) -> T;
#[rustc_intrinsic]
pub unsafe fn volatile_store<T>(p: *mut T, v: T);

static mut X: f64 = 0.0;
static mut Y: f32 = 0.0;

#[no_mangle]
pub extern "C" fn _start() {
    let (x, y) = (&raw mut X, &raw mut Y);
    unsafe {
        let mut i = 0u32;
        while i < 10 {
            let mut j = 0u32;
            while j < 20 {
                let mut k = 0u32;
                while k < 30 {
                    volatile_store(x, volatile_load(x) * 0.5 - 1.0);
                    k = wrapping_add(k, 1);
                }
                j = wrapping_add(j, 1);
            }
            i = wrapping_add(i, 1);
        }
        let mut i = 0u32;
        while i < 500 {
            volatile_store(y, volatile_load(y) * 0.5 + 1.0);
            i = wrapping_add(i, 1);
        }
        if volatile_load(x) != 0.0 - 2.0 { abort() }
        if volatile_load(y) != 2.0 { abort() }
    }
}
