import TandemIO
import TestSupport
import Testing

/// Calls that fail: the first, the second, and so on, until a life completes without a failure.
@Suite(.ownThread) struct InjectionTests {
    /// The distance between two calls that fail; 1 with a large TANDEM_IMAGES.
    static let stride = imageCount > 1_000 ? 1 : Volume.of(29, deep: 4)

    /// The faults to inject, as the recorder reads them.
    static let faults = [
        "sync,/journal/,N,eio", "write,/journal/,N,eio", "write,/journal/,N,short",
        "write,/journal/,N,torn", "write,/journal/,N,enospc", "dwrite,/journal/,N,eio",
        "sync,data.mdb,N,eio", "write,data.mdb,N,eio", "dwrite,data.mdb,N,eio",
        "dirsync,/,N,eio", "rename,/journal/,N,eio", "open,/journal/,N,eio",
        "alloc,/journal/,N,enospc",
    ]

    static let remedies = ["start again", "try again", "open the log again", "free space"]

    @Test(arguments: faults)
    func `laws 1, 3 and 6: after any failed call the daemon ends or continues, and nothing is lost`(
        _ fault: String
    ) throws {
        let number = Self.faults.firstIndex(of: fault) ?? 0
        var world = try World(seed: seed &+ UInt64(number), in: try Scratch(inMemory: true))
        var n = 1 + Int((seed &+ UInt64(number)) % UInt64(Self.stride))
        while true {
            let faults = fault.split(separator: "N").joined(separator: "\(n)")
            let outcome = try world.live(World.Life(faults: faults, steps: 12))
            let what = "TANDEM_SEED=\(seed) \(faults): \(outcome.status) \(outcome.text)"
            if outcome.status != .exited(0) {
                // The exit code is 75 if the only problem was a lack of space.
                #expect([.exited(78), .exited(75)].contains(outcome.status), "\(what)")
                // The store's path, or that of the directory in which it is created.
                #expect(outcome.text.contains(world.place.disk), "names no file: \(what)")
                #expect(Self.remedies.contains { outcome.text.contains($0) }, "no remedy: \(what)")
            }
            if outcome.faults.isEmpty {
                #expect(outcome.status == .exited(0), "\(what)")
                break
            }
            n += Self.stride
        }
        let (found, reference) = world.violations()
        #expect(found.isEmpty, "TANDEM_SEED=\(seed) \(fault): \(found)")
        guard let reference else { return }
        for problem in try world.violations(ofImages: 10, against: reference) {
            Issue.record("TANDEM_SEED=\(seed) \(fault): \(problem)")
        }
        // No client received anything whose flush had failed.
        try world.imagesOfEnds { image in
            for problem in world.violations(of: image, against: reference) {
                Issue.record("TANDEM_SEED=\(seed) \(fault): \(problem)")
            }
        }
    }

    /// Found with `TANDEM_SEED=20261124`: the test took the rejection of the client for the
    /// daemon's end.
    @Test func `law 3: a daemon without space for its first segment refuses models and continues`()
        throws
    {
        var world = try World(seed: seed, in: try Scratch(inMemory: true))
        let faults = "write,/journal/,5,torn"
        let outcome = try world.live(World.Life(faults: faults, steps: 12))
        #expect(outcome.status == .exited(0), "\(outcome.text)")
        #expect(outcome.text.contains("read-only: position=0"), "\(outcome.text)")
        let after = try world.live(World.Life(steps: 12))
        #expect(after.status == .exited(0))
        #expect(world.violations().found.isEmpty)
    }
}
