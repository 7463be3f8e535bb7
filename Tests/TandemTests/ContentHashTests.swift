import TandemModel
import TandemWire
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

/// A plain implementation of a save's content hash.
///
/// The hash covers the operations without the versions they are based on; the numbers of new
/// objects are replaced by ordinals.
private struct PlainHash {
    var ordinals: [ObjectNumber: UInt64] = [:]

    static func hash(_ operations: [SaveOperation]) -> StableHash {
        var plain = PlainHash()
        let inserts = operations.filter { if case .insert = $0 { true } else { false } }
        for insert in inserts {
            plain.ordinals[insert.object.number] = UInt64(plain.ordinals.count)
        }
        let others = operations.filter { if case .insert = $0 { false } else { true } }
        let all = inserts + others.sorted { $0.object.number < $1.object.number }
        var writer = ByteWriter()
        writer.count(all.count)
        for operation in all { plain.neutral(operation).encode(into: &writer) }
        return StableHash(writer.bytes)
    }

    private func neutral(_ operation: SaveOperation) -> SaveOperation {
        switch operation {
        case .insert(let object, let values, let links):
            let number = neutral(object).number
            return .insert(
                object: ObjectReference(tag: object.tag, number: number),
                values: values.map { SlotValue(slot: $0.slot, value: neutral($0.value)) },
                links: neutral(links))
        case .update(let object, _, let values, let links):
            return .update(
                object: neutral(object), baseVersion: 0,
                values: values.map { SaveValue(slot: $0.slot, value: neutral($0.value)) },
                links: neutral(links))
        case .delete(let object, _): return .delete(object: neutral(object), baseVersion: 0)
        }
    }

    private func neutral(_ links: [LinkChange]) -> [LinkChange] {
        links.map {
            LinkChange(slot: $0.slot, target: neutral($0.target), isAdded: $0.isAdded)
        }.sorted {
            ($0.slot, $0.target.tag, $0.target.number) < ($1.slot, $1.target.tag, $1.target.number)
        }
    }

    private func neutral(_ value: PropertyValue) -> PropertyValue {
        value.reference.map { .reference(neutral($0)) } ?? value
    }

    private func neutral(_ object: ObjectReference) -> ObjectReference {
        guard let ordinal = ordinals[object.number] else { return object }
        return ObjectReference(tag: .max, number: ordinal)
    }
}

@MainActor @Suite struct ContentHashTests {
    private static let model = ManagedObjectModel(entities: [
        Entity("Member") {
            Attribute("name", .string)
            Attribute("age", .int)
            Relationship("chief", to: "Member", inverse: "staff")
            Relationship("staff", to: "Member", inverse: "chief", toMany: true)
            Relationship("friends", to: "Member", inverse: "friends", toMany: true)
        }
    ])

    @Test(arguments: 0..<6)
    func `law 3: a save's hash is that of its content, whatever was edited`(run: Int) throws {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        let daemon = try FakeDaemon(Self.model)
        for index in 0..<5 { _ = daemon.insert("Member", ["age": .int(Int64(index))]) }
        daemon.state.withLock { $0.refusesSaves = TandemError(.validation, "no") }
        let context = daemon.container().makeContext(name: "c")
        let held = try context.fetch(FetchRequest(entity: "Member"))
        var compared = 0
        for round in 0..<60 {
            var objects = held
            for _ in 0...random.next(8) { try edit(context, &objects, &random) }
            guard context.hasChanges else { continue }
            let before = daemon.state.withLock { $0.requests.count }
            // A context with only mirrored edits saves nothing.
            _ = try? context.save(policy: [.error, .objectTrump, .storeTrump][random.next(3)])
            let saves = daemon.state.withLock { state in
                state.requests[before...].compactMap {
                    if case .save(let save) = $0 { save } else { nil }
                }
            }
            compared += saves.count
            for save in saves {
                let isSame = save.contentHash == PlainHash.hash(save.operations)
                #expect(isSame, "TANDEM_SEED=\(seed) round \(round)")
            }
            context.rollback()
        }
        #expect(compared > 20)
    }

    private func edit(
        _ context: ManagedObjectContext, _ objects: inout [ManagedObject],
        _ random: inout SplitMix
    ) throws {
        let (object, other) = (
            objects[random.next(objects.count)], objects[random.next(objects.count)]
        )
        switch random.next(10) {
        case 0: objects.append(try context.insert("Member"))
        case 1 where objects.count > 3:
            context.delete(object)
            objects.removeAll { $0 === object }
        case 2, 3: object.setObject(other === object ? nil : other, for: "chief")
        case 4, 5: if other !== object { object.add(other, to: "friends") }
        case 6: object.remove(other, from: "friends")
        case 7: object["name"] = random.next(3) == 0 ? .null : .string("n\(random.next(9))")
        default: object["age"] = .int(Int64(random.next(40)))
        }
    }
}
