import FoundationEssentials
import TandemIO
import TestSupport
import Testing

/// The same faults, injected by the kernel itself, without a preloaded library.
@Suite(.ownThread) struct StraceTests {
    /// Whether strace is installed and may trace.
    static let isThere: Bool = {
        let words = ["-qq", "-o", "/dev/null", "/bin/true"]
        guard FileManager.default.fileExists(atPath: "/usr/bin/strace") else { return false }
        return (try? ChildProcess.start("/usr/bin/strace", words))?.wait() == .exited(0)
    }()

    @Test(
        .enabled(if: isThere, "strace is not installed or may not trace"),
        arguments: [
            ("fdatasync:error=EIO:when=8+", 78), ("fdatasync:error=EIO:when=15+", 78),
            ("pwrite64:error=EIO:when=16+", 78), ("pwrite64:error=ENOSPC:when=22", 0),
        ])
    func `laws 1 and 3: a call that the kernel fails ends the daemon and loses nothing`(
        _ injection: String, _ code: Int32
    ) throws {
        let place = try FaultPlace(try Scratch(inMemory: true))
        let call = String(injection.prefix { $0 != ":" })
        let words = [
            // With -D the daemon is our child, not strace.
            "/usr/bin/strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
            "inject=" + injection,
        ]
        let daemon = try RecordedDaemon(place, under: words)
        var workload = Workload(place, seed: seed)
        let end = Result {
            try #require(daemon.isServing)
            try workload.begin()
            // Failures that the daemon tolerates, such as a failed write of a spare segment, may
            // come first; the last one ends it.
            for _ in 0..<(code == 0 ? 400 : 4_000) { try workload.step() }
        }
        let survives = (try? end.get()) != nil
        if survives || code == 0 { daemon.terminate() }
        let status = daemon.wait()
        // If the next segment can't be created, the daemon accepts no saves and loses nothing.
        let isReadOnly = daemon.text.contains("tandemd: read-only:")
        #expect(
            !survives || code == 0 || isReadOnly,
            "\(injection): the daemon continued: \(daemon.text)")
        // LMDB's meta pages are allocated when the store is made, so a full disk never makes their
        // write fail, but the injection may.
        let isMetaPage = code == 0 && daemon.text.contains("meta page")
        #expect(status == .exited(isMetaPage ? 78 : code), "\(injection): \(daemon.text)")
        #expect(daemon.text.contains(place.store) || code == 0, "\(daemon.text)")
        try Recovered.recover(place.store)
        let found = try workload.violations(in: try Recovered(place.store))
        #expect(found.isEmpty, "TANDEM_SEED=\(seed) \(injection): \(found)")
    }
}
