import TandemModel
import TandemWire

/// Loads rows, members and long values for a context when they are needed.
final class ObjectLoader: StatefulPart {
    /// Objects recently returned as faults; they are loaded together when one of them is needed.
    private var recentFaults: [ObjectReference] = []
    /// The most recently loaded long values; only a root context caches them.
    private var blobs: BlobCache

    init(_ shared: SharedByParts, isRoot: Bool) {
        blobs = BlobCache(limit: isRoot ? shared.core.limits.blobCacheBytes : 0)
        super.init(shared)
    }

    /// Returns a fault to load, together with recent faults of its entity and the rows around it in
    /// a list.
    func faultBatch(_ record: ObjectRecord) -> [ObjectReference] {
        let batch = lateFaults(record)
        let room = min(core.limits.windowBatch, core.limits.faultBatch) - batch.count
        guard room > 0, !participants.isEmpty else { return batch }
        let known = Set(batch)
        for list in participants.lists {
            let near = list.objects(around: record.reference, room)
            if !near.isEmpty { return batch + near.filter { !known.contains($0) } }
        }
        return batch
    }

    private func lateFaults(_ record: ObjectRecord) -> [ObjectReference] {
        let lately = recentFaults.filter { other in
            guard other.tag == record.reference.tag, other != record.reference,
                let known = graph[other.number]
            else { return false }
            return known.isFault && known.object != nil
        }
        recentFaults.removeAll()
        return [record.reference] + lately
    }

    /// Remembers an object that was returned as a fault.
    func recordFault(_ reference: ObjectReference) {
        if recentFaults.count >= core.limits.faultBatch { recentFaults.removeAll() }
        recentFaults.append(reference)
    }

    /// Returns an object after loading it; throws `unknownObject` if it does not exist.
    func existing(_ id: ObjectID, _ calls: DaemonCalls) async throws -> ManagedObject {
        let reference = try graph.reference(id, try await connectedSession(calls))
        try await load([reference], calls)
        let record = graph.record(reference)
        guard !record.isDeleted, !record.isFault else {
            throw TandemError(.unknownObject, "\(id) does not exist")
        }
        return graph.object(reference)
    }

    /// Loads the rows and members that are not loaded yet; if `withRows` is true, also loads the
    /// rows of the members.
    ///
    /// If the model changes meanwhile, the read is repeated under the new model.
    func load(
        _ objects: [ObjectReference], members: [(owner: ObjectReference, slot: Int)] = [],
        withRows: Bool = false, attempt: Int = 1, _ calls: DaemonCalls
    ) async throws {
        if let parent {
            return try await parent.loader.load(
                objects.filter { graph.record($0).isFault },
                members: members.filter { graph.record($0.owner).members($0.slot) == nil },
                withRows: withRows, calls)
        }
        let rows = objects.filter { graph.record($0).isFault }
        let lists = members.filter { graph.record($0.owner).members($0.slot) == nil }
        guard let before = session?.model, !rows.isEmpty || !lists.isEmpty else { return }
        var tags = Set(rows.map(\.tag) + lists.map(\.owner.tag))
        if withRows { for list in lists { tags.formUnion(destinationTags(of: list, before)) } }
        let read = Read(
            objects: rows,
            members: lists.map { MemberRequest(owner: $0.owner, slot: $0.slot) },
            modelVersion: before.version, interests: tags.sorted(), memberRows: withRows)
        do {
            try await load(read, calls)
        } catch let error as TandemError
            where error.code == .schemaMismatch && attempt < core.limits.modelAttempts
        {
            let translation = try await follower.followModel(from: before, error, calls)
            try await load(
                try rows.map { try translation.reference($0) },
                members: try lists.map { try translation.slot($0.slot, of: $0.owner) },
                withRows: withRows, attempt: attempt + 1, calls)
        }
    }

    /// Returns the entities to which the members of a relationship may belong.
    private func destinationTags(
        of list: (owner: ObjectReference, slot: Int), _ model: CompiledModel
    ) -> [EntityTag] {
        graph.record(list.owner).entity.properties[list.slot].relationship
            .flatMap { model.entity(tagged: $0.destination) }?.descendants ?? []
    }

    /// Reads rows and members, and adopts them.
    private func load(_ read: Read, _ calls: DaemonCalls) async throws {
        try await logged(.fault, { _ in read.fields(in: graph) }) {
            let answer: ReadAnswer = try await reads.read(.read(read), calls) {
                if case .objects(let answer) = $0 { answer } else { nil }
            }
            try adopt(answer)
        }
    }

    /// Adopts an answer that was read at the context's position.
    func adopt(_ answer: ReadAnswer) throws {
        for object in answer.objects { try graph.adopt(object) }
        for missing in answer.missing where graph[missing.number] != nil {
            let record = graph.record(missing)
            record.fault()
            record.markMissing(
                record.pendingKind != .insert && record.inFlightKind != .insert)
            if record.isMissing { failures.recordDeletion(of: record) }
            failures.didLoad(record)
        }
        for list in answer.members {
            try graph.check(list.members + [list.owner])
            let owner = graph.record(list.owner)
            owner.adopt(list)
            failures.didLoad(owner)
        }
        failures.dropDoubtfulEdits()
    }

    /// Loads members as of the context's own position, without moving the context; loads nothing if
    /// that is impossible.
    func loadMembersInPlace(
        _ record: ObjectRecord, _ slot: Int, _ calls: DaemonCalls
    ) async throws {
        let start = merged
        guard parent == nil, family.pin == nil, let before = session, start > 0,
            !record.isFault, !record.isInserted, record.members(slot) == nil
        else { return }
        let member = MemberRequest(owner: record.reference, slot: slot)
        let read = Read(members: [member], modelVersion: before.model.version, at: start)
        try await logged(.fault, { _ in read.fields(in: graph) }) {
            let result = try await calls.answer(to: .read(read))
            guard case .success(.objects(let answer)) = result, answer.position == start,
                merged == start, session?.generation == before.generation,
                connection.knownGeneration == before.generation
            else { return }
            try adopt(answer)
        }
    }

    /// Loads data for a property read; an error is stored, and thrown by the next throwing call.
    ///
    /// If the load causes a merge, observers of objects and of declared lists are notified after
    /// the code that reads the property has finished.
    func fire(_ load: (ManagedObjectContext, DaemonCalls) async throws -> Void) {
        family.withLoad {
            do {
                try blocking { try await load(context, $0) }
            } catch let error as TandemError {
                failures.recordFault(error)
            } catch {
                failures.replace(by: TandemError(.storage, "\(error)"))
            }
        }
    }

    /// Tries again to load properties whose reads failed; if that fails too, they stay unreadable.
    func loadAgain(_ record: ObjectRecord) {
        let failed = failures.slots(of: record)
        let members = failed.filter {
            record.entity.properties[$0].isToMany && record.membersBelow($0) == nil
        }
        fire { context, calls in
            try await context.loader.load(
                record.isFault ? [record.reference] : [],
                members: members.map { (record.reference, $0) }, calls)
        }
        for slot in failures.slots(of: record) {
            guard let blob = record.committedValue(slot)?.outside else { continue }
            _ = content(of: blob)
        }
        failures.didLoad(record)
        root.failures.dropDoubtfulEdits()
    }

    // MARK: Long values

    /// Returns the content of a blob if a context of the family has loaded it recently.
    func cachedContent(of blob: BlobReference) -> [UInt8]? { root.loader.blobs[blob] }

    /// Returns the content of the blob in an object's property, or nil if it can't be loaded.
    ///
    /// After a failure, ``ManagedObjectContext/faultFailure`` contains the error.
    func content(
        of blob: BlobReference, _ property: CompiledProperty, of record: ObjectRecord
    ) -> [UInt8]? {
        let content = content(of: blob)
        if content == nil {
            failures.recordFailedRead(property.slot, of: record)
        } else if record.isUnreadable {
            failures.didLoad(record)
            failures.dropDoubtfulEdits()
        }
        return content
    }

    /// Returns the content of a blob, or nil if it can't be loaded.
    ///
    /// Blocks if the content is not cached. After a failure, ``ManagedObjectContext/faultFailure``
    /// contains the error.
    func content(of blob: BlobReference) -> [UInt8]? {
        let loader = root.loader
        if let held = loader.blobs[blob] { return held }
        fire { context, calls in
            loader.blobs.keep(try await context.loader.content(of: blob, calls), blob)
        }
        return loader.blobs[blob]
    }

    /// Requests the content of a blob.
    func content(of blob: BlobReference, _ calls: DaemonCalls) async throws -> [UInt8] {
        try await logged(.fault, { [("content", "\($0.count)")] }) {
            try await calls.content(of: blob)
        }
    }
}

extension Read {
    /// Returns the fields to log for a read.
    func fields(in graph: ObjectGraph) -> [(String, String)] {
        let first = objects.first ?? members.first?.owner
        let entity = first.map { graph.record($0).entity.name } ?? "-"
        return [("entity", entity), ("rows", "\(objects.count)"), ("lists", "\(members.count)")]
    }
}

extension DaemonCalls {
    /// Requests the content of a blob and checks it against the hash.
    func content(of blob: BlobReference) async throws -> [UInt8] {
        let content: [UInt8] = try await answer(to: .blob(blob)) {
            if case .blob(let content) = $0 { content } else { nil }
        }
        guard blob.isReference(to: content) else {
            throw TandemError(.storage, "the content that the daemon sent does not match \(blob)")
        }
        return content
    }
}
