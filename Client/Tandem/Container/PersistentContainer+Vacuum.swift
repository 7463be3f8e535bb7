import TandemModel
package import TandemWire

/// Removing journal segments, for the admin command.
extension PersistentContainer {
    /// Removes the oldest segments of the journal, or reports which would be removed; blocks.
    ///
    /// Repeat the call while the answer says that there is more. Throws `denied` if the user is not
    /// an administrator, except for a dry run.
    package func vacuum(_ request: VacuumRequest) throws -> VacuumAnswer {
        guard case .vacuumed(let answer) = try connection.answer(.vacuum(request)).get() else {
            throw TandemError.unexpectedAnswer("its journal")
        }
        return answer
    }
}
