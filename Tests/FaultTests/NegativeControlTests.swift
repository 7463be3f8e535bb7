import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Flushes without effect must be detected; otherwise the images would prove nothing.
@Suite(.ownThread) struct NegativeControlTests {
    @Test(arguments: ["sync,/journal/,1+,lie", "dirsync,/,1+,lie"])
    func `a journal whose flushes do nothing is caught`(_ faults: String) throws {
        let world = try World.ordinary(seed: seed, steps: 30, faults: faults)
        let (_, reference) = world.violations()
        var caught = 0
        try world.images(80) { image in
            guard let reference else { return }
            if !world.violations(of: image, against: reference).isEmpty { caught += 1 }
        }
        #expect(caught > 4, "\(caught) of 80 images broke a law")
    }

    /// In a separate process, because a store with lost pages may crash it.
    @Test func `an LMDB whose flushes do nothing is caught`() async throws {
        let scratch = try Scratch(inMemory: true)
        await #expect(processExitsWith: .failure) { [path = scratch.path as String] in
            exit(NegativeControlTests.status("sync,data.mdb,1+,lie", path, unmade: 0))
        }
    }

    @Test func `an LMDB whose flushes work is not caught`() async throws {
        let scratch = try Scratch(inMemory: true)
        await #expect(processExitsWith: .success) { [path = scratch.path as String] in
            exit(NegativeControlTests.status("", path, unmade: 4))
        }
    }

    /// Returns 0 if all images recover, 3 if one violates a law, and `unmade` if no world could be
    /// created, which proves neither.
    private static func status(_ faults: String, _ path: String, unmade: Int32) -> Int32 {
        do {
            let world = try World.ordinary(
                seed: seed, steps: 50, faults: faults, in: Scratch(in: path))
            guard let reference = world.violations().reference else { return unmade }
            return try world.violations(ofImages: 60, against: reference).isEmpty ? 0 : 3
        } catch {
            return unmade
        }
    }
}
