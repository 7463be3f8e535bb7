import TandemModel
import TandemStore
import TandemWire

/// What a client reads by reference, some at a time: rows, members of relationships, and the rows of these.
///
/// At every step, all of it has to be what it was at the first one: whoever carries it out begins anew where others altered something that was
/// read (``hasRead(_:)``). The members of one relationship are read in one step.
struct ObjectsUnderWay {
    private let read: Read
    private let model: CompiledModel
    private let size: AnswerSize
    /// The objects and members that were read, but for the position.
    private(set) var answer = Objects(position: 0)
    private var nextObject = 0
    private var nextList = 0
    /// The list whose members' rows are read, and the next one of them.
    private var (rowsOf, nextMember) = (0, 0)
    /// Whose rows were looked at, also what is not there, and whose members.
    private var (rows, owners): (Set<ObjectNumber>, Set<ObjectNumber>) = ([], [])

    /// So many members that need no more than to be listed are read for one of a budget.
    private static let membersForOne = 8

    /// Begins with a read of which nothing was looked at.
    ///
    /// Throws `schemaMismatch` for slots of another model.
    init(_ read: Read, in model: CompiledModel, _ committer: Committer) throws {
        self.read = read
        self.model = model
        size = AnswerSize(committer)
        if !read.members.isEmpty {
            try model.check(slotsOf: read.modelVersion, "the read", "read again")
        }
    }

    /// About the bytes that it holds.
    var bytes: Int {
        size.bytes + (rows.count + owners.count) * MemoryLayout<ObjectNumber>.stride
    }

    /// Whether an object's row or members are part of what was read.
    func hasRead(_ object: ObjectReference) -> Bool {
        rows.contains(object.number) || owners.contains(object.number)
    }

    /// Reads on until a budget is used up; true when ``answer`` is whole.
    ///
    /// Throws `limitExceeded` for more bytes than an answer may have, and `unknownProperty` for what is no relationship to many.
    mutating func step(
        _ committer: Committer, _ past: PastGraph?, _ left: inout Int
    ) throws -> Bool {
        while left > 0, nextObject < read.objects.count {
            try readObject(committer, past)
            left -= 1
        }
        while left > 0, nextList < read.members.count {
            left -= 1 + (try readMembers(committer, past)) / Self.membersForOne
        }
        guard nextObject == read.objects.count, nextList == read.members.count else {
            return false
        }
        guard read.memberRows else { return true }
        while left > 0, rowsOf < answer.members.count { try readRows(committer, past, &left) }
        return rowsOf == answer.members.count
    }

    private mutating func readObject(_ committer: Committer, _ past: PastGraph?) throws {
        let object = read.objects[nextObject]
        nextObject += 1
        rows.insert(object.number)
        let stored = try committer.store.stored(object, past)
        try size.add(stored?.row)
        if let stored { answer.objects.append(stored) } else { answer.missing.append(object) }
    }

    /// Reads the next list of members; returns how many these are.
    private mutating func readMembers(_ committer: Committer, _ past: PastGraph?) throws -> Int {
        let request = read.members[nextList]
        nextList += 1
        guard let entity = model.entity(tagged: request.owner.tag),
            request.slot < entity.properties.count,
            let relationship = entity.properties[request.slot].relationship, relationship.toMany
        else {
            throw TandemError(
                .unknownProperty,
                "\(model.id(of: request.owner)) has no to-many relationship \(request.slot)")
        }
        owners.insert(request.owner.number)
        let list = try committer.store.members(request, relationship, past)
        try size.add(references: 1 + list.members.count)
        try size.add(ranks: list.ranks?.count ?? 0)
        answer.members.append(list)
        return list.members.count
    }

    /// Reads rows of members, each once, but for those of objects that were asked for.
    private mutating func readRows(
        _ committer: Committer, _ past: PastGraph?, _ left: inout Int
    ) throws {
        let members = answer.members[rowsOf].members
        while left > 0, nextMember < members.count {
            let member = members[nextMember]
            nextMember += 1
            left -= 1
            guard rows.insert(member.number).inserted else { continue }
            guard let stored = try committer.store.stored(member, past) else { continue }
            try size.add(stored.row)
            answer.objects.append(stored)
        }
        guard nextMember == members.count else { return }
        (rowsOf, nextMember) = (rowsOf + 1, 0)
    }
}

extension Store {
    /// The members of a relationship as they are or were.
    fileprivate func members(
        _ request: MemberRequest, _ relationship: CompiledRelationship, _ past: PastGraph?
    ) throws -> MemberList {
        let (owner, slot) = (request.owner, request.slot)
        guard relationship.isOrdered else {
            let now = try members(of: owner.number, relationship)
            let members = past?.members(now, of: owner, slot: slot) ?? now
            return MemberList(owner: owner, slot: slot, members: members)
        }
        let now = try places(of: owner.number, relationship)
        let places = past?.places(now, of: owner, slot: slot) ?? now
        // A link without a rank was an error before.
        return MemberList(
            owner: owner, slot: slot, members: places.map(\.member),
            ranks: places.compactMap(\.rank))
    }
}
