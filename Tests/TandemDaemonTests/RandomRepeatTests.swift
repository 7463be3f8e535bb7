import TandemModel
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct RandomRepeatTests {
    @Test func `law 3: random saves repeated at random times get their first answers`() throws {
        var repeats = 0
        for round in UInt64(0)..<12 {
            var world = try RepeatWorld(seed: seed &+ round)
            for _ in 0..<80 { try world.step() }
            repeats += world.repeats
        }
        #expect(repeats > 300, "seed \(seed)")
    }
}

/// A committer under random saves with clashing unique keys, stale versions, cascades and denials.
///
/// Some saves are repeated with other object numbers after crashes, checkpoints and trims.
struct RepeatWorld {
    private struct Made {
        var request: SaveRequest
        var answer: SaveAnswer
    }

    private let bench: CommitBench
    private var random: SplitMix64
    private var next: UInt64 = 1
    private var made: [Made] = []
    /// Objects that existed at some time, with a version that may be stale.
    private var seen: [ObjectReference: UInt64] = [:]
    private(set) var repeats = 0
    private let what: String

    init(seed: UInt64) throws {
        bench = try CommitBench(leased: 4)
        random = SplitMix64(seed: seed)
        what = "seed \(seed)"
    }

    mutating func step() throws {
        switch Int.random(in: 0..<16, using: &random) {
        case 0: try bench.crash()
        case 1: try bench.committer.checkpoint()
        case 2:
            try bench.committer.checkpoint()
            try bench.committer.journal.trim(below: bench.committer.position)
        case 3..<9: try repeatOne()
        default: try save()
        }
    }

    private mutating func save() throws {
        let request = SaveRequest(
            saveID: withUnsafeBytes(of: random.next()) { Array($0) },
            contentHash: StableHash(first: random.next(), second: 0),
            policy: MergePolicy.allCases.randomElement(using: &random) ?? .error,
            modelVersion: try bench.model.version,
            operations: try operations())
        do {
            let answer = try bench.save(request)
            #expect(!answer.isRepeat && answer.inserted.count == request.inserts.count, "\(what)")
            for case .some(let object) in answer.inserted { seen[object] = answer.position }
            for object in seen.keys.sorted() where Bool.random(using: &random) {
                if let stored = try bench.store.stored(object) { seen[object] = stored.version }
            }
            made.append(Made(request: request, answer: answer))
        } catch let error as TandemError {
            let expected: [TandemError.Code] = [
                .conflict, .uniqueness, .unknownObject, .deleteDenied,
            ]
            #expect(expected.contains(error.code), "\(what): \(error)")
        }
    }

    private mutating func repeatOne() throws {
        guard let one = made.randomElement(using: &random) else { return }
        let before = try dump(bench.store)
        let again = try bench.save(renumbered(one.request))
        var expected = one.answer
        expected.isRepeat = true
        #expect(again == expected, "\(what)")
        #expect(try dump(bench.store) == before, "\(what)")
        repeats += 1
    }

    // MARK: Requests

    private mutating func operations() throws -> [SaveOperation] {
        var operations: [SaveOperation] = []
        var new: [ObjectReference] = []
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            let old = seen.keys.sorted().randomElement(using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<4:
                let insert = try insert(old)
                new.append(insert.object)
                operations.append(insert)
            case 4: if let object = new.popLast() { operations.append(delete(object, 0)) }
            case 5..<7: if let old { operations.append(try update(old)) }
            default: if let old { operations.append(delete(old, seen[old] ?? 0)) }
            }
        }
        return operations
    }

    private func delete(_ object: ObjectReference, _ version: UInt64) -> SaveOperation {
        .delete(object: object, baseVersion: version)
    }

    private mutating func code() -> PropertyValue {
        .string("k\(Int.random(in: 0..<6, using: &random))")
    }

    private mutating func insert(_ old: ObjectReference?) throws -> SaveOperation {
        next += 1
        var values: [String: PropertyValue] = [:]
        if Int.random(in: 0..<4, using: &random) > 0 { values["code"] = code() }
        if let old, old.tag == (try bench.entity("Node").tag), Bool.random(using: &random) {
            values["parent"] = .reference(old)
        }
        return try bench.insert("Node", next, values)
    }

    private mutating func update(_ object: ObjectReference) throws -> SaveOperation {
        var values = ["rank": PropertyValue.int(Int64.random(in: 0..<4, using: &random))]
        if Int.random(in: 0..<4, using: &random) == 0 { values["code"] = code() }
        let version = Bool.random(using: &random) ? seen[object] ?? 0 : 0
        return try bench.update("Node", object.number, values, version: version)
    }

    /// Returns the same request as another process would make it.
    private mutating func renumbered(_ request: SaveRequest) -> SaveRequest {
        var numbers: [ObjectNumber: ObjectNumber] = [:]
        for object in request.inserts {
            next += 1
            numbers[object.number] = next
        }
        func map(_ object: ObjectReference) -> ObjectReference {
            ObjectReference(tag: object.tag, number: numbers[object.number] ?? object.number)
        }
        var copy = request
        copy.operations = request.operations.map { operation in
            switch operation {
            case .insert(let object, let values, let links):
                .insert(object: map(object), values: values, links: links)
            case .delete(let object, let version):
                .delete(object: map(object), baseVersion: version)
            case .update: operation
            }
        }
        return copy
    }
}
