package import TandemModel
import TandemWire

/// Named consumers of the journal, for the admin command.
extension PersistentContainer {
    /// Registers a consumer at a position, or at the end for nil; blocks until that is durable.
    ///
    /// Returns the position that the consumer has acknowledged. An existing consumer keeps its
    /// position unless it is expired.
    package func registerConsumer(_ name: String, at position: Position?) throws -> Position {
        try acknowledged(by: ConsumerRequest(name: name, action: .register(at: position)))
    }

    /// Acknowledges the journal up to a position for a consumer; blocks.
    ///
    /// Returns the acknowledged position.
    package func acknowledge(_ position: Position, asConsumer name: String) throws -> Position {
        try acknowledged(by: ConsumerRequest(name: name, action: .acknowledge(position)))
    }

    /// Moves a consumer to a position, possibly backwards, or to the end for nil.
    ///
    /// Blocks until that is durable. Returns the acknowledged position.
    package func resetConsumer(_ name: String, to position: Position?) throws -> Position {
        try acknowledged(by: ConsumerRequest(name: name, action: .reset(to: position)))
    }

    /// Removes a consumer; blocks until that is durable.
    ///
    /// Returns false if there is none.
    package func removeConsumer(_ name: String) throws -> Bool {
        try answer(to: ConsumerRequest(name: name, action: .remove)).acknowledged != nil
    }

    private func acknowledged(by request: ConsumerRequest) throws -> Position {
        try acknowledged(connection.answer(.consumer(request)))
    }

    /// Returns the acknowledged position in a consumer's answer.
    func acknowledged(_ answer: Result<DaemonMessage, TandemError>) throws -> Position {
        guard case .consumer(let answer) = try answer.get(), let number = answer.acknowledged,
            let session = connection.knownSession
        else { throw PersistentContainer.noConsumerAnswer }
        return session.position(number)
    }

    static var noConsumerAnswer: TandemError {
        TandemError.unexpectedAnswer("the consumer")
    }

    private func answer(to request: ConsumerRequest) throws -> ConsumerAnswer {
        guard case .consumer(let answer) = try connection.answer(.consumer(request)).get() else {
            throw PersistentContainer.noConsumerAnswer
        }
        return answer
    }
}
