//! Options of kernels, and that results are those of their data.

use super::btree::Tree;
use super::*;
use std::path::PathBuf;
use threadwise_study::{OptionValue, Options, Workload};

fn request(options: &[(&str, OptionValue)]) -> LoadRequest {
    LoadRequest {
        workload: Workload::Kernels,
        options: options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        engine_options: Options::new(),
        data_dir: PathBuf::new(),
        treatment: "x".into(),
        sessions: 1,
        seed: 1,
    }
}

#[test]
fn every_kernel_gives_the_results_that_its_data_has() {
    for name in KERNELS {
        let options = [(KERNEL, OptionValue::Text(name.into())), (BYTES, OptionValue::Integer(1 << 20))];
        let spec = KernelSpec::parse(&request(&options)).unwrap();
        if spec.kernel == Kernel::Lock {
            continue;
        }
        let data = Data::new(spec.kernel, spec.bytes, 7);
        assert!(data.parts() > 1, "{name}");
        for part in 0..data.parts() {
            let (done, found) = data.run(part);
            assert!(done > 0 && found == data.expected(part), "{name} {part}");
        }
        let other = Data::new(spec.kernel, spec.bytes, 8);
        assert!((0..data.parts()).any(|part| data.expected(part) != other.expected(part)), "{name}");
    }
}

#[test]
fn a_chain_visits_every_line_once() {
    let data = Data::new(Kernel::Chase, 1 << 18, 3);
    let Data::Chain(..) = &data else { panic!("no chain") };
    let steps: u64 = (0..data.parts()).map(|part| data.run(part).0).sum();
    assert_eq!(steps, (1 << 18) / ELEMENT);
    assert_eq!(data.run(data.parts() - 1).1, data.expected(data.parts() - 1));
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    for (name, value, part) in [
        (KERNEL, OptionValue::Text("divide".into()), "add, multiply"),
        (BYTES, OptionValue::Integer(1), "from 4096"),
        ("rows", OptionValue::Integer(1), "allowed: kernel, bytes"),
    ] {
        let why = KernelSpec::parse(&request(&[(name, value)])).unwrap_err().to_string();
        assert!(why.contains(name) && why.contains(part), "{why}");
    }
}

#[test]
fn every_key_has_its_place_and_others_that_of_the_next() {
    for len in [1, 7, 8, 9, 64, 65, 1000, 4097] {
        let tree = Tree::new(len);
        assert_eq!(tree.len(), len);
        for place in 0..len {
            assert_eq!(tree.find(Tree::key(place)), place, "{len}");
            assert_eq!(tree.find(Tree::key(place) - 1), place, "between keys");
        }
        assert!(tree.find(Tree::key(len)) >= len, "beyond the last");
        let some = std::array::from_fn::<usize, 8, _>(|at| at * 7 % len);
        assert_eq!(tree.find_all(&some.map(Tree::key)), some);
    }
}
