import TandemModel
import TandemWire

/// Reading where a context stands, without leading it on.
extension ManagedObjectContext {
    /// Loads the members of held objects as of the context's own position; blocks.
    ///
    /// Other reads merge first, up to the position of their answer. Who prepares a save of what the context has seen wants neither: the
    /// save would be based on what was merged for its sake, and lists would report that merge and the save apart. What the context
    /// doesn't hold, and what the journal doesn't reach back to, is left to those reads.
    /// Cost: none for members that are known; else one request, of which the daemon undoes what was saved since.
    package func loadMembersInPlace(_ relationship: String, of object: ManagedObject) throws {
        guard let slot = object.entity.slot(of: relationship) else { return }
        try inPlaceStep(object.record, slot).run(on: connection)
    }

    private func inPlaceStep(_ record: ObjectRecord, _ slot: Int) throws -> Step<Void> {
        let start = merged
        guard parent == nil, standing.pin == nil, let session, start > 0, !record.isFault,
            !record.isInserted, record.members(slot) == nil
        else { return .done(()) }
        let member = MemberRequest(owner: record.reference, slot: slot)
        let read = Read(members: [member], modelVersion: session.model.version, at: start)
        return try told(read) {
            .ask(.read(read)) { result in
                guard case .success(.objects(let answer)) = result, answer.position == start,
                    self.merged == start, self.session?.generation == session.generation,
                    self.connection.knownSession?.generation == session.generation
                else { return .done(()) }
                try self.adopt(answer)
                return .done(())
            }
        }
    }
}
