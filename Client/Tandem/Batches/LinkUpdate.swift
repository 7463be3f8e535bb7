package import TandemModel
import TandemWire

/// Links that a save sets in one object, without an object of it in any context.
package struct LinkUpdate {
    /// The object, which exists.
    package let object: ObjectID
    /// The existing objects by relationship: the target of a to-one one, new members of a to-many one.
    package let links: [String: [ObjectID]]

    /// Sets links of an object; no relationship of them is ordered.
    package init(_ object: ObjectID, _ links: [String: [ObjectID]]) {
        self.object = object
        self.links = links
    }
}

/// A save of links that was sent and is not known to be answered.
package struct LinkSave {
    private let reply: Reply<DaemonMessage>
    private let connection: Connection

    fileprivate init(_ reply: Reply<DaemonMessage>, _ connection: Connection) {
        self.reply = reply
        self.connection = connection
    }

    /// Blocks until the save is durable; throws why it is not, or not known to be.
    package func wait() throws(TandemError) {
        switch connection.answer(of: reply) {
        case .success(.saved): break
        case .success(let answer): throw Step<Void>.unexpected(answer)
        case .failure(let error): throw error
        }
    }
}

extension ManagedObjectContext {
    /// Sends a save that sets links, without waiting for its answer.
    ///
    /// The daemon carries out saves in the order in which they are sent. This one is not based on any
    /// version, so it sets links whatever others changed. Repeating it changes nothing, as members that
    /// are there stay. The context neither merges it nor shows it among its edits. After a failure,
    /// save the same links as edits of objects, which also follows a change of the model. Throws
    /// `unknownEntity`, `unknownProperty` and `usage` for links that do not fit the model.
    package func send(_ updates: [LinkUpdate]) throws -> LinkSave {
        try sendStep(updates).run(on: connection)
    }

    private func sendStep(_ updates: [LinkUpdate]) throws -> Step<LinkSave> {
        try sessionStep().then { session in
            let model = session.model
            var writer = SaveOperationWriter(count: updates.count)
            for update in updates {
                guard let entity = model.entity(named: update.object.entity) else {
                    throw TandemError(
                        .unknownEntity, "there is no entity `\(update.object.entity)`")
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
                saveID: self.saveIDs.next(), contentHash: StableHash(operations.bytes),
                context: self.name, policy: self.mergePolicy, modelVersion: model.version,
                encoded: operations)
            let connection = self.connection
            return .send(.save(request)) { .done(LinkSave($0, connection)) }
        }
    }

    /// Loads the members of a relationship of objects, all with one request; blocks.
    package func loadMembers(
        of objects: [ManagedObject], _ relationship: String
    ) throws {
        let lists = objects.compactMap { object in
            object.record.entity.slot(of: relationship).map { (object.record.reference, $0) }
        }
        try loadStep([], members: lists).run(on: connection)
    }
}
