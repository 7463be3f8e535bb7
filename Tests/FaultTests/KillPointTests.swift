import TandemIO
import TestSupport
import Testing

/// A process that ends itself at its n-th call, for every n: while it recovers, saves, begins a segment,
/// makes a checkpoint, answers.
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
        // The power may go as well, while the page cache still holds what the killed ones wrote.
        for problem in try world.violations(ofImages: Volume.of(20, deep: 60), against: reference) {
            Issue.record("TANDEM_SEED=\(seed) \(fault): \(problem)")
        }
    }
}
