import FoundationEssentials
import TandemIO
import Testing

/// The same faults made by the kernel's own means: nothing of ours is preloaded.
@Suite struct StraceTests {
    /// Whether strace is there and may trace.
    static let isThere: Bool = {
        let words = ["-qq", "-o", "/dev/null", "/bin/true"]
        guard FileManager.default.fileExists(atPath: "/usr/bin/strace") else { return false }
        return (try? ChildProcess.start("/usr/bin/strace", words))?.wait() == .exited(0)
    }()

    @Test(
        .enabled(if: isThere, "strace is not installed or may not trace"),
        arguments: [
            "fdatasync:error=EIO:when=8", "fdatasync:error=EIO:when=15",
            "pwrite64:error=EIO:when=16", "pwrite64:error=ENOSPC:when=22",
        ])
    func `laws 1 and 3: a call that the kernel fails ends the daemon and loses nothing`(
        _ injection: String
    ) throws {
        let place = try FaultPlace(try Scratch())
        let call = String(injection.prefix { $0 != ":" })
        let words = [
            "/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
            "inject=" + injection,
        ]
        let daemon = try RecordedDaemon(place, under: words)
        var workload = Workload(place, seed: seed)
        #expect(throws: (any Error).self) {
            try #require(daemon.isServing)
            try workload.begin()
            while true { try workload.step() }
        }
        let status = daemon.wait()
        #expect(status == .exited(78), "\(injection): \(daemon.text)")
        #expect(daemon.text.contains(place.store), "\(daemon.text)")
        try Recovered.recover(place.store)
        let found = try workload.violations(in: try Recovered(place.store))
        #expect(found.isEmpty, "TANDEM_SEED=\(seed) \(injection): \(found)")
    }
}
