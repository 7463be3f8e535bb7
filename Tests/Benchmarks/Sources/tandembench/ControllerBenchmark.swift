import FoundationEssentials
import Tandem

/// P4 with a complete results controller.
///
/// The time begins after the transaction has arrived, and includes merging, decisions and the
/// delegate call.
@MainActor
final class ControllerBenchmark: FetchedResultsControllerDelegate {
    private let socket: String
    private let n: Int
    private var editor: ListEditor
    private var ids: [Int: ObjectID] = [:]
    private var buckets: [ObjectID] = []
    private var told = 0

    init(socket: String, n: Int) {
        self.socket = socket
        self.n = n
        editor = ListEditor(BenchData(contents: n), isSingle: false)
    }

    func run() throws {
        for (at, id) in try BenchData(contents: n).seed(socket).enumerated() { ids[at + 1] = id }
        let (readers, writers) = (container(socket, "reader"), container(socket, "writer"))
        defer {
            readers.close()
            writers.close()
        }
        let writer = writers.makeContext(name: "writer")
        let found = try writer.fetch(Bucket.self)
        let byName = Dictionary(uniqueKeysWithValues: found.map { ($0.name, $0.id) })
        buckets = editor.bucketNames.compactMap { byName[$0] }
        // The probe shows that a save has arrived, so that the time excludes waiting.
        let (reader, probe) = (
            readers.makeContext(name: "reader"), readers.makeContext(name: "probe")
        )
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(
                entity: "Content", sort: ["bucket.name", "-creationDate", "name"]),
            context: reader, sectionNameKeyPath: "bucket.name")
        controller.delegate = self
        try controller.performFetch()
        for k in ListBenchmark.batches where ListBenchmark.isSensible(k, n) {
            var times: [Double] = []
            let stop = now() + 20_000_000_000
            while times.count < 5 || (times.count < 300 && now() < stop) {
                let position = try save(editor.batch(k), writer)
                try probe.reach(position)
                told = 0
                let start = now()
                try ManagedObjectContext.mergeChanges(
                    fromRemoteContextSave: position, into: [reader])
                times.append(microseconds(from: start, to: now()))
                guard told == k else { throw Failure("told of \(told) rows, not of \(k)") }
            }
            try check(controller)
            ResultLine(
                scenario: "p4", peer: "tandem-controller", n: n, metric: "apply_\(k)_changes",
                values: times, notes: [("k", "\(k)")], durability: nil
            ).emit()
        }
    }

    nonisolated func controller(
        _ controller: FetchedResultsController<ManagedObject>, didChange change: ControllerChange
    ) {
        MainActor.assumeIsolated { told += change.change.objects.count }
    }

    private func save(
        _ batch: [ListRowChange], _ context: ManagedObjectContext
    ) throws -> Position {
        for change in batch {
            guard let new = change.new else {
                if let id = change.old.flatMap({ ids.removeValue(forKey: $0.id) }) {
                    context.delete(try context.existingObject(with: id))
                }
                continue
            }
            let object: Content
            if let id = ids[new.id] {
                guard let held = try context.existingObject(with: id) as? Content else {
                    throw Failure("\(id) is gone")
                }
                object = held
            } else {
                object = try context.insert(Content.self)
                ids[new.id] = object.id
            }
            object.name = new.name
            object.creationDate = Date(timeIntervalSince1970: new.creationDate)
            object.size = new.size
            object.isEven = new.isEven
            if object.bucket?.id != buckets[new.bucket] {
                object.bucket = try context.object(with: buckets[new.bucket]) as? Bucket
            }
        }
        return try context.save()
    }

    private func check(_ controller: FetchedResultsController<ManagedObject>) throws {
        let expected = editor.sections()
        let shown = controller.sections
        guard shown.map(\.name) == expected.map(\.name),
            shown.map(\.objectIDs) == expected.map({ $0.ids.compactMap { ids[$0] } })
        else { throw Failure("the list differs from a full sort") }
    }
}
