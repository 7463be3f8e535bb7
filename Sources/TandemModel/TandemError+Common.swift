/// Errors that several verbs and modules report with the same wording.
extension TandemError {
    /// Returns the error for a position whose log or epoch differs from the store's.
    package static func foreign(
        _ position: Position, remedy: String = "start again from a snapshot"
    ) -> TandemError {
        TandemError(
            .historyExpired,
            "position \(position) belongs to another log or epoch, because the store was replaced or "
                + "restored; \(remedy)")
    }

    /// Returns the error for a position after the journal's last one.
    package static func afterEnd(
        _ position: UInt64, last: UInt64, _ code: Code = .historyExpired
    ) -> TandemError {
        TandemError(code, "position \(position) does not exist yet; the last one is \(last)")
    }

    /// Returns the error for a position that the journal did not reach before a timeout.
    package static func notReached(_ position: UInt64, last: UInt64) -> TandemError {
        TandemError(
            .timeout, "position \(position) was not reached in time; the last one is \(last)")
    }

    /// Returns the error for a position before the journal's first one.
    package static func expired(
        _ position: UInt64, oldest: UInt64, remedy: String = "start again from a snapshot"
    ) -> TandemError {
        TandemError(
            .historyExpired,
            "position \(position) is no longer in the journal, which begins at \(oldest); \(remedy)"
        )
    }

    /// Returns the error for an answer that does not fit the request.
    package static func unexpectedAnswer(_ subject: String) -> TandemError {
        TandemError(
            .storage,
            "the daemon sent an unexpected answer about \(subject); use daemon and client of the "
                + "same version")
    }

    /// Returns the error for an object that does not exist.
    package static func unknownObject(_ name: String) -> TandemError {
        TandemError(.unknownObject, "\(name) does not exist")
    }

    /// Returns the error for a request to a store without a model.
    package static func noModel(_ code: Code = .schemaMismatch) -> TandemError {
        TandemError(
            code,
            "the store has no model yet; connect an app that declares one, or run `tandem schema apply`"
        )
    }
}

extension AttributeType {
    /// Returns the message for a value that is not of this type.
    package func mismatch(_ value: String) -> String {
        "a value of type \(rawValue) is required, not \(value)"
    }
}

extension CompiledRelationship {
    /// Returns the message for an object to which the relationship can't refer.
    package func mismatch(_ name: String, _ target: String) -> String {
        "\(name) refers to objects of \(declaration.destination), not to \(target)"
    }
}

extension CompiledModel {
    /// Returns the error for an entity that the model does not have, with the names of its
    /// entities.
    package func unknownEntity(_ name: String) -> TandemError {
        let names = entities.map(\.name).sorted()
        guard !names.isEmpty else { return TandemError.noModel(.unknownEntity) }
        return TandemError(
            .unknownEntity,
            "there is no entity `\(name.prefix(100))`; the entities are "
                + names.joined(separator: ", "))
    }
}

extension CompiledEntity {
    /// Returns the error for a property that the entity does not have, with the names of its
    /// properties.
    package func unknownProperty(_ name: String) -> TandemError {
        TandemError.unknownProperty(
            name, of: self.name, known: Set(properties.map(\.name)).sorted())
    }
}

extension TandemError {
    /// Returns the error for a property that an entity does not have.
    package static func unknownProperty(
        _ name: String, of owner: String, known: [String]
    ) -> TandemError {
        let most = 24
        let rest = known.count - most
        let shown = known.prefix(most) + (rest > 0 ? ["\(rest) more"] : [])
        let list =
            shown.isEmpty
            ? "there are no properties" : "the properties are \(shown.joined(separator: ", "))"
        return TandemError(
            .unknownProperty, "\(owner) has no property `\(name.prefix(100))`; \(list)")
    }
}
