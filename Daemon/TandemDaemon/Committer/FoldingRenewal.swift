import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// The renewal of derived texts that were folded with other Unicode tables, before clients are
/// served.
///
/// The renewal uses ordinary transactions, so the store remains a function of the journal and every
/// subscriber receives the changes. After an interruption, the next start renews the rest.
struct FoldingRenewal {
    private let committer: Committer
    private let store: Store

    init(_ committer: Committer) { (self.committer, store) = (committer, committer.store) }

    /// Renews the folded texts unless they were made with this build's Unicode tables; durable on
    /// return.
    ///
    /// If there is no room, the texts stay stale until the next start. Cost: usually nothing.
    /// Otherwise all objects with such texts are read, and those whose texts differ are written.
    /// Few texts differ, since tables differ only in characters that the older ones lack.
    func run() throws {
        guard try !store.foldingMatchesThisBuild else { return }
        do {
            for entity in store.model?.entities ?? []
            where entity.derivations.contains(where: \.isFolded) {
                try renew(entity)
            }
            try committer.revertingShortage { try store.recordFolding() }
            try committer.checkpoint()
        } catch let error as TandemError {
            committer.reporter.log(.derivedStale, [:], error.message)
        } catch let error as StoreError where error.code == .damaged {
            committer.reporter.log(.derivedStale, [:], error.message)
        }
    }

    private func renew(_ entity: CompiledEntity) throws {
        var first: ObjectNumber? = 0
        while let from = first {
            let step = try store.rowStep(of: entity.tag, from: from)
            var scan = StaleFoldingScan(entity, store)
            for stored in step {
                try scan.evaluate(stored)
                if scan.isFull { try append(&scan) }
            }
            try append(&scan)
            first = step.last.flatMap { $0.object.number.successor }
        }
    }

    private func append(_ scan: inout StaleFoldingScan) throws {
        guard !scan.changes.isEmpty else { return }
        let found = scan
        scan = StaleFoldingScan(found.entity, store)
        assert(
            !Invariants.walk(found.changes.count)
                || zip(found.changes, found.changes.dropFirst()).allSatisfy {
                    $0.object.number < $1.object.number
                },
            "A renewal contains each object once, sorted by number.")
        try committer.mappingShortage {
            var transaction = Transaction(
                principal: Principal(author: "tandemd", context: "derived texts"),
                content: .objects(found.changes), blobs: found.blobs)
            try committer.append(&transaction)
        }
        try committer.flush()
    }
}

/// A scan for stale folded texts; collects as many changes as fit into one transaction.
private struct StaleFoldingScan {
    let entity: CompiledEntity
    private let store: Store
    private let derivations: [CompiledDerivation]
    private(set) var changes: [Change] = []
    private(set) var blobs: [Blob] = []
    private var bytes = 0

    init(_ entity: CompiledEntity, _ store: Store) {
        self.entity = entity
        self.store = store
        derivations = entity.derivations.filter(\.isFolded)
    }

    /// Whether the changes fill a transaction.
    var isFull: Bool { changes.count >= WireLimits.batchObjects || bytes >= 1 << 20 }

    mutating func evaluate(_ stored: Store.Stored) throws {
        var values: [SlotValue] = []
        for derivation in derivations {
            let source = stored.row.uncheckedValue(derivation.source, in: entity)
            let value = try store.derived(
                derivation, of: stored.object.number, entity, from: source)
            guard stored.row.uncheckedValue(derivation.slot, in: entity) != value.inRow else {
                continue
            }
            values.append(SlotValue(slot: derivation.slot, value: value.inRow))
            try keep(value)
        }
        guard !values.isEmpty else { return }
        let row = stored.row.replacing(values, in: entity, version: stored.row.modelVersion)
        bytes += 2 * row.bytes.count
        changes.append(
            Change(
                .update, stored.object, changed: PropertyMask(values.map(\.slot)), row: row,
                before: values.map {
                    SlotValue(slot: $0.slot, value: stored.row.uncheckedValue($0.slot, in: entity))
                }))
    }

    /// Adds the content of a long text to `blobs`, unless the store has it.
    private mutating func keep(_ value: PropertyValue) throws {
        guard case .string(let text) = value, let blob = value.inRow.outside,
            try !store.hasContent(of: blob), !blobs.contains(where: { $0.reference == blob })
        else { return }
        bytes += blob.length
        blobs.append(Blob(Array(text.utf8)))
    }
}

extension CompiledDerivation {
    fileprivate var isFolded: Bool { kind == .folded }
}
