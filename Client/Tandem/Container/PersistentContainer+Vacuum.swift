import TandemModel
package import TandemWire

/// Giving up journal, for the admin command.
extension PersistentContainer {
    /// Gives up the oldest part of the journal, or says what would go; blocks.
    ///
    /// Ask again while there is more. Throws `denied` to who is no admin, unless it is a dry run.
    package func vacuum(_ request: VacuumRequest) throws -> Vacuumed {
        guard case .vacuumed(let answer) = try connection.answer(.vacuum(request)).get() else {
            throw TandemError(.storage, "the daemon did not answer about its journal")
        }
        return answer
    }
}
