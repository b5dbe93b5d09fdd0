//! What does not compile. Each is beside what does, so that it fails for its reason alone.

/// A loan does not outlive its publisher.
///
/// ```
/// # fn example(node: &narrows_services::Node) -> Result<(), narrows_services::Error> {
/// let frames = node.publisher::<[u8]>("frames")?;
/// let loan = frames.loan(4)?;
/// loan.send()?;
/// drop(frames);
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0505
/// # fn example(node: &narrows_services::Node) -> Result<(), narrows_services::Error> {
/// let frames = node.publisher::<[u8]>("frames")?;
/// let loan = frames.loan(4)?;
/// drop(frames);
/// loan.send()?;
/// # Ok(()) }
/// ```
///
/// Nor is it published twice, or written when it was.
///
/// ```compile_fail,E0382
/// # fn example(node: &narrows_services::Node) -> Result<(), narrows_services::Error> {
/// let frames = node.publisher::<[u8]>("frames")?;
/// let mut loan = frames.loan(4)?;
/// loan.send()?;
/// loan.fill(1);
/// # Ok(()) }
/// ```
struct Loans;

/// A value has the publisher's type, and a request the client's.
///
/// ```
/// # fn example(node: &narrows_services::Node) -> Result<(), narrows_services::Error> {
/// node.publisher::<u32>("numbers")?.send(&1_u32)?;
/// let answer: u64 = node.client::<u32, u64>("square")?.call(&1_u32)?;
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0308
/// # fn example(node: &narrows_services::Node) -> Result<(), narrows_services::Error> {
/// node.publisher::<u32>("numbers")?.send(&1_i32)?;
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0308
/// # fn example(node: &narrows_services::Node) -> Result<(), narrows_services::Error> {
/// let answer: u32 = node.client::<u32, u64>("square")?.call(&1_u32)?;
/// # Ok(()) }
/// ```
///
/// A type that says nothing of how it lies in memory is none.
///
/// ```compile_fail,E0277
/// # fn example(node: &narrows_services::Node) -> Result<(), narrows_services::Error> {
/// node.publisher::<String>("names")?;
/// # Ok(()) }
/// ```
struct Values;

/// A node belongs to one thread, as does what is made of it; what it shares does not.
///
/// ```
/// # fn example(node: narrows_services::Node) -> Result<(), narrows_services::Error> {
/// let numbers = node.share()?.publisher::<u32>("numbers")?;
/// std::thread::spawn(move || numbers.send(&1));
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # fn example(node: narrows_services::Node) -> Result<(), narrows_services::Error> {
/// let numbers = node.publisher::<u32>("numbers")?;
/// std::thread::spawn(move || numbers.send(&1));
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # fn example(node: narrows_services::Node) -> Result<(), narrows_services::Error> {
/// let sample = node.subscriber::<u32>("numbers")?.receive(None)?;
/// std::thread::spawn(move || sample.read());
/// # Ok(()) }
/// ```
struct Threads;

/// Types that are derived have their fields where C has them, without gaps, and any bits of them
/// are a value.
///
/// ```
/// # use narrows_services::{FromBytes, Immutable, IntoBytes, KnownLayout, Typed};
/// #[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
/// #[repr(C)]
/// struct Reading {
///     sensor: u32,
///     celsius: f32,
/// }
/// ```
///
/// ```compile_fail
/// # use narrows_services::{FromBytes, Immutable, IntoBytes, KnownLayout, Typed};
/// #[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
/// struct Reading {
///     sensor: u32,
///     celsius: f32,
/// }
/// ```
///
/// ```compile_fail
/// # use narrows_services::{FromBytes, Immutable, IntoBytes, KnownLayout, Typed};
/// #[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
/// #[repr(C)]
/// struct Gap {
///     sensor: u32,
///     celsius: f64,
/// }
/// ```
///
/// ```compile_fail
/// # use narrows_services::{FromBytes, Immutable, IntoBytes, KnownLayout, Typed};
/// #[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
/// #[repr(C)]
/// struct Where {
///     sensor: *const u8,
/// }
/// ```
///
/// ```compile_fail
/// # use narrows_services::{FromBytes, Immutable, IntoBytes, KnownLayout, Typed};
/// #[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
/// #[repr(u8)]
/// enum Door {
///     Open,
///     Closed,
/// }
/// ```
struct Types;

/// Only a program that vouches for a publisher has its values where they are.
///
/// ```
/// # fn example(sample: narrows_services::Sample<u32>) {
/// // SAFETY: this program started the publisher.
/// let number: Option<&u32> = unsafe { sample.trusted() };
/// # }
/// ```
///
/// ```compile_fail,E0133
/// # fn example(sample: narrows_services::Sample<u32>) {
/// let number: Option<&u32> = sample.trusted();
/// # }
/// ```
///
/// And only for as long as the sample is kept.
///
/// ```compile_fail,E0505
/// # fn example(sample: narrows_services::Sample<u32>) {
/// // SAFETY: this program started the publisher.
/// let number: Option<&u32> = unsafe { sample.trusted() };
/// drop(sample);
/// println!("{number:?}");
/// # }
/// ```
struct Trust;
