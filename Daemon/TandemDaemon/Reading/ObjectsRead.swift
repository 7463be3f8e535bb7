import TandemModel
import TandemStore
import TandemWire

/// A read by reference: rows, members of relationships, and the rows of the members.
struct ObjectsRead {
    private let read: Read
    private let run: ReadRun
    private let budget: ReadBudget

    init(_ read: Read, _ run: ReadRun) {
        (self.read, self.run) = (read, run)
        budget = run.budget()
    }

    /// Reads all requested data.
    ///
    /// Throws `schemaMismatch` for slots of another model, `limitExceeded` if the answer would be
    /// too large, and `unknownProperty` for a slot that is not a to-many relationship.
    func answer() throws -> ReadAnswer {
        if !read.members.isEmpty {
            try run.model.check(slotsOf: read.modelVersion, "the read", "read again")
        }
        var answer = ReadAnswer(position: run.position)
        for object in read.objects {
            let stored = try row(of: object)
            if let stored { answer.objects.append(stored) } else { answer.missing.append(object) }
        }
        for request in read.members { answer.members.append(try members(request)) }
        guard read.memberRows else { return answer }
        // Include each member once, but not the objects that were requested themselves.
        var known = Set(read.objects.map(\.number))
        for member in answer.members.lazy.flatMap(\.members)
        where known.insert(member.number).inserted {
            if let stored = try row(of: member) { answer.objects.append(stored) }
        }
        return answer
    }

    private func row(of object: ObjectReference) throws -> StoredObject? {
        let stored = try run.view.stored(object, run.past)
        try budget.collect(stored?.row)
        return stored
    }

    private func members(_ request: MemberRequest) throws -> MemberList {
        guard let entity = run.model.entity(tagged: request.owner.tag),
            request.slot < entity.properties.count,
            let relationship = entity.properties[request.slot].relationship, relationship.toMany
        else {
            throw TandemError(
                .unknownProperty,
                "\(run.model.id(of: request.owner)) has no to-many relationship \(request.slot)")
        }
        if let most = run.smallReadWork {
            // Count first, because reading all members may take a long time.
            let count = try run.view.memberCount(
                of: request.owner.number, relationship, atMost: Self.membersForOne * (most + 1))
            try budget.charge(count / Self.membersForOne, heldBytes: budget.collectedBytes)
        }
        let list = try run.view.members(request, relationship, run.past, budget)
        try budget.collect(
            (1 + list.members.count) * MemoryLayout<ObjectReference>.stride
                + (list.ranks?.count ?? 0) * (32 + Rank.byteLimit),
            reads: 1 + list.members.count / Self.membersForOne)
        return list
    }

    /// The number of members that take about as long to read as one object.
    private static let membersForOne = 8
}

extension StoreView {
    /// Returns the members of a relationship, now or at an earlier position.
    fileprivate func members(
        _ request: MemberRequest, _ relationship: CompiledRelationship, _ past: HistoricalGraph?,
        _ budget: ReadBudget
    ) throws -> MemberList {
        let (owner, slot) = (request.owner, request.slot)
        guard relationship.isOrdered else {
            let now = try members(of: owner.number, relationship, budget: budget)
            let members = try past?.members(now, of: owner, slot: slot, budget) ?? now
            return MemberList(owner: owner, slot: slot, members: members)
        }
        let now = try rankedMembers(of: owner.number, relationship, budget: budget)
        let ranked = try past?.rankedMembers(now, of: owner, slot: slot, budget) ?? now
        // A link without a rank was already reported as an error.
        return MemberList(
            owner: owner, slot: slot, members: ranked.map(\.member),
            ranks: ranked.compactMap(\.rank))
    }
}
