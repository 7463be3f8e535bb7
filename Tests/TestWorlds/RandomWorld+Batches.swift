package import Tandem
import TandemModel
import TandemQuery

extension RandomWorld {
    /// Carries out a random batch in another process's context, and ignores rejections by rules.
    package func batch(_ random: inout SplitMix) throws -> Position {
        let context = writers[random.next(writers.count)]
        do {
            return try execute(context, &random).position
        } catch let error as TandemError {
            guard error.code == .deleteDenied || error.code == .validation else { throw error }
            return try context.connect()
        }
    }

    private func execute(
        _ context: ManagedObjectContext, _ random: inout SplitMix
    ) throws -> BatchResult {
        let formats = [
            nil, "size < 2", "bucket = nil", "bucket.name = \"a\"", "ANY tags.name = \"a\"",
        ]
        let format = formats[random.next(formats.count)]
        let request = FetchRequest(
            entity: random.next(4) == 0 ? "Image" : "Content",
            predicate: try format.map { try ObjectPredicate(format: $0) },
            limit: random.next(3) == 0 ? 1 + random.next(3) : nil)
        switch random.next(3) {
        case 0:
            let rows = (0..<random.next(4)).map { index -> BatchValues in
                ["name": RandomWorld.names[index], "size": index]
            }
            return try context.execute(BatchInsertRequest(entity: request.entity, rows: rows))
        case 1: return try context.execute(BatchDeleteRequest(request))
        default: return try context.execute(BatchUpdateRequest(request, set: values(&random)))
        }
    }

    private func values(_ random: inout SplitMix) throws -> BatchValues {
        guard random.next(2) == 0 else { return ["size": random.next(4), "isEven": nil] }
        let buckets = try writers[0].fetch(FetchRequest(entity: "Bucket")).map(\.id)
        let bucket = buckets.isEmpty ? [] : [buckets[random.next(buckets.count)]]
        return BatchValues(["name": .string("b")], objects: ["bucket": bucket])
    }
}
