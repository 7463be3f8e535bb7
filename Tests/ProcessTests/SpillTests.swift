import TandemIO
import TandemModel
import Testing

@testable import TandemStore

/// A model change with more dirty pages than LMDB keeps in memory, on a disk that fills up during
/// it.
///
/// It needs two gigabytes of memory, so it runs only if `TANDEM_SPILL` is in the environment.
@Suite(.ownThread, .serialized) struct SpillTests {
    static let isWanted =
        ThisProcess.environment("TANDEM_SPILL") != nil && SmallDisk.canMount(.tmpfs)
    /// The number of notes; each takes a page of its own, and LMDB keeps at most 131,071 of them in
    /// memory.
    private let count: UInt64 = 150_000
    private let text = PropertyValue.string(String(repeating: "x", count: 2_200))

    private let first = ManagedObjectModel { Entity("Note") { Attribute("text", .string) } }
    private let second = ManagedObjectModel {
        Entity("Note") {
            Attribute("motto", .string)
            Attribute("text", .string)
        }
    }

    private func install(_ model: CompiledModel, _ store: Store) throws(StoreError) {
        var writer = ByteWriter()
        model.encode(into: &writer)
        var transaction = Transaction(content: .model(writer.bytes))
        transaction.position = store.appliedPosition + 1
        try store.apply(transaction)
    }

    private func fill(_ store: Store) throws {
        let model = try #require(store.model)
        let entity = try #require(model.entity(named: "Note"))
        var values = entity.defaults
        values[try #require(entity.slot(of: "text"))] = text
        let row = Row(values, of: entity, version: model.version)
        let mask = PropertyMask([try #require(entity.slot(of: "text"))])
        for start in stride(from: 1, through: count, by: 10_000) {
            let changes = (start..<start + 10_000).map { number in
                Change(
                    .insert, ObjectReference(tag: entity.tag, number: number), changed: mask,
                    row: row)
            }
            var transaction = Transaction(content: .objects(changes))
            transaction.position = store.appliedPosition + 1
            try store.apply(transaction)
            try store.checkpoint()
        }
    }

    private func rows(_ store: Store) throws -> Int {
        try store.current.count(store.tables.rows)
    }

    @Test(.enabled(if: isWanted, "TANDEM_SPILL is not set"))
    func `law 3: a disk that fills up during a model change is reported as full`()
        throws
    {
        let disk = try SmallDisk(.tmpfs, mebibytes: 1_600)
        let store = try Store.open(
            path: disk.path, newIdentity: StoreIdentity(log: LogID(high: 1, low: 2), epoch: 1))
        defer { store.close() }
        try install(try CompiledModel(first), store)
        try fill(store)
        let later = try CompiledModel(second, replacing: store.model)
        try disk.fill()
        let (position, used) = (store.checkpointPosition, store.usedBytes)
        let refusal = #expect(throws: StoreError.self) { try store.reserveRoomToRewrite() }
        #expect(refusal?.code == .noSpace)
        // Without the reservation, the shortage occurs in the middle of the change.
        let error = #expect(throws: StoreError.self) { try install(later, store) }
        let met = try #require(error)
        #expect(store.meaning(of: met).code == .noSpace, "\(met)")
        try store.revert()
        store.releaseReservedSpace()
        #expect(store.checkpointPosition == position && store.usedBytes == used)
        #expect(try rows(store) == Int(count))
        try disk.free()
        try store.reserveRoomToRewrite()
        try install(later, store)
        try store.checkpoint()
        #expect(try rows(store) == Int(count) && store.model?.version == 2)
    }
}
