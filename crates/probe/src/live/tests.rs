//! What the live bench does inside. None of these tests looks at how long something takes.

use super::*;

fn first() -> u32 {
    current_affinity().unwrap().first().unwrap()
}

#[test]
fn a_cpu_that_the_kernel_refuses_is_an_error_that_names_it() {
    let clock = Clock::checked().unwrap();
    let error = std::thread::spawn(move || settle(9999, clock).unwrap_err()).join().unwrap();
    assert!(matches!(error, ProbeError::Pin { cpu: 9999, .. }), "{error}");
    assert!(error.to_string().starts_with("cannot probe logical CPU 9999: cannot bind"), "{error}");
}

#[test]
fn a_thread_that_lost_its_cpu_is_an_error() {
    let first = first();
    let clock = Clock::checked().unwrap();
    let check = move || {
        let mut worker = settle(first, clock).unwrap();
        let mut result = || {
            let (orders, inbox) = channel();
            let window = Arc::new(Window::new(Kernel::Chain, 10_000, vec![orders], clock, Arc::default()));
            window.wake(0);
            worker.serve(&inbox.recv().unwrap());
            worker.pinned = [first + 1].into_iter().collect();
            window.take(0).unwrap()
        };
        assert_eq!(result().unwrap().cpu, first);
        result().unwrap_err()
    };
    let error = std::thread::spawn(check).join().unwrap();
    assert!(matches!(error, ProbeError::Pin { source: PinError::Differs { .. }, .. }), "{error}");
}

#[test]
fn threads_that_share_a_cpu_say_so() {
    let first = first();
    let clock = Clock::checked().unwrap();
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..2).map(|_| channel::<Order>()).unzip();
    let window = Arc::new(Window::new(Kernel::Chain, 50_000_000, senders, clock, Arc::default()));
    let serve = |inbox: Receiver<Order>| {
        std::thread::spawn(move || settle(first, clock).unwrap().serve(&inbox.recv().unwrap()))
    };
    let threads: Vec<_> = inboxes.into_iter().map(serve).collect();
    window.wake(0);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let timings = [0, 1].map(|position| window.take(position).unwrap().unwrap());
    // Each counts from the common start to its own end, so that the sum may pass 1 a little.
    let share: f64 = timings.iter().map(|timing| timing.on_cpu_share).sum();
    assert!(share < 1.5, "two threads on one CPU: {timings:?}");
    assert!(timings.iter().any(|timing| timing.involuntary_switches > 0), "{timings:?}");
}
