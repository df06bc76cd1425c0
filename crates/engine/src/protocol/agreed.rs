//! Constants that both sides know before the first message.

/// Version of the protocol; a worker of another major version is refused.
pub const VERSION: u32 = 1;

/// Environment variable that holds the number of the reply file descriptor.
pub const REPLY_FD: &str = "THREADWISE_REPLY_FD";

/// Longest line that either side accepts, bytes.
pub const MAX_LINE_BYTES: usize = 64 << 20;
