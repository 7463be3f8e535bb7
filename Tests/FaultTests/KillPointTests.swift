import TandemIO
import TestSupport
import Testing

/// Processes that kill themselves at their n-th call, for every n: during recovery, saves, segment
/// creation, checkpoints and answers.
@Suite(.ownThread) struct KillPointTests {
    static let stride = imageCount > 1_000 ? 1 : Volume.of(29, deep: 9)

    @Test(arguments: ["any,/,N,kill", "any,/,N,killafter", "write,/,N,tornkill"])
    func `laws 1 to 3: a kill at any call loses nothing and repeats nothing`(
        _ fault: String
    ) throws {
        var world = try World(seed: seed, in: try Scratch(inMemory: true))
        var n = 1 + Int(seed % UInt64(Self.stride))
        while true {
            let faults = fault.split(separator: "N").joined(separator: "\(n)")
            let outcome = try world.live(World.Life(faults: faults, steps: 12))
            if outcome.faults.isEmpty {
                #expect(outcome.status == .exited(0), "\(faults): \(outcome.text)")
                break
            }
            #expect(outcome.status == .signalled(9), "\(faults): \(outcome.text)")
            n += Self.stride
        }
        let (found, reference) = world.violations()
        #expect(found.isEmpty, "TANDEM_SEED=\(seed) \(fault): \(found)")
        guard let reference else { return }
        // The power may fail as well, while the page cache still holds the writes of killed
        // processes.
        for problem in try world.violations(ofImages: Volume.of(20, deep: 60), against: reference) {
            Issue.record("TANDEM_SEED=\(seed) \(fault): \(problem)")
        }
    }
}
