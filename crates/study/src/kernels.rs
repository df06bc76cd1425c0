//! The workload `kernels`: option names and sizes.

/// Option: the kernel.
pub const KERNEL: &str = "kernel";
/// Option: bytes of a session's data.
pub const BYTES: &str = "bytes";
/// Kernels, in the order in which they are shown.
pub const KERNELS: [&str; 10] =
    ["add", "multiply", "l1", "l2", "llc", "memory", "bandwidth", "b-tree", "b-tree-interleaved", "lock"];

/// Default bytes of a session's data: inside of the cache of a kernel's name on every current server processor (first-level
/// caches of 32 KiB and more, second-level ones of 512 KiB to 2 MiB, last-level ones of 16 MiB and more), and, of memory,
/// larger than what a session gets of most last-level caches.
pub fn default_bytes(kernel: &str) -> u64 {
    match kernel {
        "l1" => 16 << 10,
        "l2" => 256 << 10,
        "llc" => 6 << 20,
        "b-tree" | "b-tree-interleaved" => 80 << 20,
        _ => 128 << 20,
    }
}
