import TandemModel
import TandemWire

/// Reads at a context's position, without moving it.
extension ManagedObjectContext {
    /// Loads the members of a loaded object as of the context's own position; blocks.
    ///
    /// Other reads first merge up to the position of their answer. A caller that prepares a save
    /// based on the state it has seen must avoid that. The save would otherwise be based on the
    /// merged state, and lists would report the merge and the save separately. If the object is not
    /// loaded, or the journal does not reach back to the position, nothing is loaded. Cost: none
    /// for members that are loaded; otherwise one request, for which the daemon undoes everything
    /// that was saved since.
    package func loadMembersInPlace(_ relationship: String, of object: ManagedObject) throws {
        guard let slot = object.entity.slot(of: relationship) else { return }
        try blocking { try await loadMembersInPlace(object.record, slot, $0) }
    }

    private func loadMembersInPlace(
        _ record: ObjectRecord, _ slot: Int, _ calls: DaemonCalls
    ) async throws {
        let start = merged
        guard parent == nil, familyState.pin == nil, let before = session, start > 0,
            !record.isFault, !record.isInserted, record.members(slot) == nil
        else { return }
        let member = MemberRequest(owner: record.reference, slot: slot)
        let read = Read(members: [member], modelVersion: before.model.version, at: start)
        try await traced(.fault, { _ in read.fields(in: self) }) {
            let result = try await calls.answer(to: .read(read))
            guard case .success(.objects(let answer)) = result, answer.position == start,
                merged == start, session?.generation == before.generation,
                connection.knownGeneration == before.generation
            else { return }
            try adopt(answer)
        }
    }
}
