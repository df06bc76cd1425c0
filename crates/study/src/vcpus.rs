//! How many vCPUs a server has: what a study of its sessions is judged by, where nothing can be placed.

use crate::{Options, Study};

/// Option of a workload: the server's vCPUs. Engines ignore it.
pub const VCPUS: &str = "vcpus";

/// Most vCPUs that are accepted.
pub const MOST_VCPUS: u32 = 4096;

/// The number among a treatment's options.
pub fn vcpus(options: &Options) -> Option<u32> {
    let count = u32::try_from(options.get(VCPUS)?.whole()?).ok()?;
    (1..=MOST_VCPUS).contains(&count).then_some(count)
}

impl Study {
    /// The vCPUs of its server, if the study asks what each of them adds.
    pub fn vcpus(&self) -> Option<u32> {
        vcpus(&self.treatments.first()?.options)
    }
}

/// Numbers of sessions to measure, ascending: each up to 8 vCPUs, then steps of about a quarter, always half of the vCPUs
/// and all of them, and where the share allows it half as many more. None is above `most`.
pub fn sessions(vcpus: u32, most: u32) -> Vec<u32> {
    let past = vcpus.saturating_add(vcpus.div_ceil(2));
    let mut all: Vec<u32> = match vcpus {
        0..=8 => (1..=vcpus).collect(),
        _ => {
            let quarters = (1..=4).map(|quarter| vcpus * quarter / 4);
            (0..32).map(|power| 1_u32 << power).take_while(|one| *one < vcpus / 4).chain(quarters).collect()
        }
    };
    all.extend([vcpus / 2, past]);
    all.retain(|one| (1..=most).contains(one));
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_go_past_the_vcpus_unless_the_share_is_less() {
        for (vcpus, most, expected) in [
            (1, u32::MAX, &[1, 2][..]),
            (2, u32::MAX, &[1, 2, 3]),
            (4, u32::MAX, &[1, 2, 3, 4, 6]),
            (4, 2, &[1, 2]),
            (16, u32::MAX, &[1, 2, 4, 8, 12, 16, 24]),
            (64, 64, &[1, 2, 4, 8, 16, 32, 48, 64]),
        ] {
            assert_eq!(sessions(vcpus, most), expected, "{vcpus} {most}");
        }
    }
}
