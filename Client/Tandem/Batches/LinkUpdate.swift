package import TandemModel
import TandemWire

/// The links that a save sets in one object, without loading the object into a context.
package struct LinkUpdate {
    /// The object, which has to exist.
    package let object: ObjectID
    /// The existing targets by relationship: the target of a to-one relationship, or new members of
    /// a to-many relationship.
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

    init(_ reply: ReplyPromise<DaemonMessage>, _ connection: Connection) {
        self.reply = reply
        self.connection = connection
    }

    /// Blocks until the save is durable.
    ///
    /// Throws the error if the save failed or its outcome is unknown.
    package func wait() throws(TandemError) {
        switch connection.answer(of: reply) {
        case .success(.saved): break
        case .success: throw TandemError.unexpectedAnswer("a request")
        case .failure(let error): throw error
        }
    }
}

extension LinkUpdate {
    /// Returns a save that sets the links of several updates.
    static func request(
        _ updates: [LinkUpdate], saveID: [UInt8], context: String, policy: MergePolicy,
        _ model: CompiledModel
    ) throws -> SaveRequest {
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
        return SaveRequest(
            saveID: saveID, contentHash: StableHash(operations.bytes), context: context,
            policy: policy, modelVersion: model.version, encoded: operations)
    }
}
