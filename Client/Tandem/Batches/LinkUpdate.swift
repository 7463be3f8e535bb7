package import TandemModel
import TandemWire

/// Links that a save sets in one object, without loading that object into a context.
package struct LinkUpdate {
    /// The object, which has to exist.
    package let object: ObjectID
    /// The existing targets by relationship: the target of a to-one, or new members of a to-many.
    package let links: [String: [ObjectID]]

    /// Creates an update of an object's links; none of the relationships may be ordered.
    package init(_ object: ObjectID, _ links: [String: [ObjectID]]) {
        self.object = object
        self.links = links
    }
}

/// A save of links that was sent and may still be unanswered.
package struct LinkSave {
    private let reply: ReplyPromise<DaemonMessage>
    private let connection: Connection

    fileprivate init(_ reply: ReplyPromise<DaemonMessage>, _ connection: Connection) {
        self.reply = reply
        self.connection = connection
    }

    /// Blocks until the save is durable.
    ///
    /// Throws the reason if the save failed or its outcome is unknown.
    package func wait() throws(TandemError) {
        switch connection.answer(of: reply) {
        case .success(.saved): break
        case .success: throw TandemError.unexpectedAnswer("a request")
        case .failure(let error): throw error
        }
    }
}

extension ManagedObjectContext {
    /// Sends a save that sets links, without waiting for its answer.
    ///
    /// The daemon carries out saves in the order in which they are sent. This one has no base
    /// version, so it sets the links no matter what others have changed. Repeating it changes
    /// nothing, because existing members stay. The context neither merges the save nor shows it
    /// among its edits. After a failure, save the same links as edits of objects; that also works
    /// after a model change. Throws `unknownEntity`, `unknownProperty` and `usage` for links that
    /// do not fit the model.
    package func send(_ updates: [LinkUpdate]) throws -> LinkSave {
        try blocking { try await send(updates, $0) }
    }

    private func send(_ updates: [LinkUpdate], _ calls: DaemonCalls) async throws -> LinkSave {
        let model = try await connectedSession(calls).model
        var writer = SaveOperationWriter(count: updates.count)
        for update in updates {
            guard let entity = model.entity(named: update.object.entity) else {
                throw model.unknownEntity(update.object.entity)
            }
            let (values, links) = try BatchValues([:], objects: update.links)
                .resolved(in: entity, model)
            let object = ObjectReference(tag: entity.tag, number: update.object.number)
            writer.update(object, baseVersion: 0, values: values.count)
            for value in values { writer.value(value.slot, value.value, base: nil) }
            writer.links(links)
        }
        let operations = writer.finish()
        let request = SaveRequest(
            saveID: saveIDs.next(), contentHash: StableHash(operations.bytes), context: name,
            policy: mergePolicy, modelVersion: model.version, encoded: operations)
        return LinkSave(calls.send(.save(request)), connection)
    }

    /// Loads the members of a relationship of several objects with one request; blocks.
    package func loadMembers(
        of objects: [ManagedObject], _ relationship: String
    ) throws {
        let lists = objects.compactMap { object in
            object.record.entity.slot(of: relationship).map { (object.record.reference, $0) }
        }
        try blocking { try await load([], members: lists, $0) }
    }
}
