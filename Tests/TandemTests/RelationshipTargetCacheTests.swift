import TandemModel
import TestWorlds
import Testing

@testable import Tandem

@Suite(.ownThread) struct RelationshipTargetCacheTests {
    private let entity: CompiledEntity

    init() throws {
        entity = try #require(try CompiledModel(buckets).entity(named: "Bucket"))
    }

    private func record(_ number: UInt64) -> ObjectRecord {
        ObjectRecord(ObjectReference(tag: entity.tag, number: number), entity)
    }

    /// Returns the object of a record as found while values are made, and whether it missed the
    /// cache.
    private func found(
        _ record: ObjectRecord, _ targets: RelationshipTargetCache
    ) -> (object: ManagedObject, isMissed: Bool) {
        if let object = targets[record.reference] { return (object, false) }
        if let known = record.object {
            targets.keep(known, record, isLent: false)
            return (known, true)
        }
        let new = Bucket(binding: ObjectBinding(context: nil, record: record))
        record.lend(new)
        targets.keep(new, record, isLent: true)
        return (new, true)
    }

    @Test
    func `an object that is retained elsewhere stays bound to its record, others are released`() {
        for run in 0..<4 {
            var random = SplitMix(Seed.value(run))
            let records = (0..<400).map { record(UInt64($0 * 64)) }
            var held: [Int: ManagedObject] = [:]
            var targets: RelationshipTargetCache? = RelationshipTargetCache()
            for _ in 0..<3_000 {
                let at = random.next(records.count)
                guard let object = targets.map({ found(records[at], $0).object }) else { break }
                let isRight =
                    object.record === records[at] && (held[at].map { $0 === object } ?? true)
                #expect(isRight, "TANDEM_SEED=\(Seed.value(run))")
                if random.next(8) == 0 { held[at] = random.next(2) == 0 ? object : nil }
            }
            targets = nil
            for (at, record) in records.enumerated() {
                #expect(record.object === held[at], "TANDEM_SEED=\(Seed.value(run)) \(at)")
            }
        }
    }

    @Test func `objects that rows refer to repeatedly become cached`() {
        let targets = RelationshipTargetCache()
        let records = (0..<1_000).map { record(UInt64($0 * 100)) }
        let misses = (0..<30).map { _ in records.count { found($0, targets).isMissed } }
        #expect(misses.first == 1_000 && misses.last ?? 1_000 < 500, "\(misses)")
    }
}
