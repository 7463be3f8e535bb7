import Tandem
import TandemModel
import Testing

/// Saves of a context that has not merged changes by others, under each policy.
@MainActor @Suite struct StaleContextTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext
    /// One content object in the writer's context and in the reader's.
    let theirs: Content
    let ours: Content

    init() throws {
        fixture = try Fixture()
        writer = fixture.container("writer").makeContext(name: "writer")
        reader = fixture.container("reader").makeContext(name: "reader")
        theirs = try writer.insert(Content.self)
        theirs.name = "base"
        theirs.size = 1
        try writer.save()
        ours = try #require(try reader.fetch(Content.self).first)
    }

    private func names() throws -> [String] {
        let context = fixture.container("judge").makeContext(name: "judge")
        return try context.fetch(Content.self, sort: ["name"]).map(\.name)
    }

    @Test(arguments: MergePolicy.allCases)
    func `an edit of a deleted object is a conflict or dropped, the rest is saved`(
        policy: MergePolicy
    ) throws {
        writer.delete(theirs)
        try writer.save()
        ours.name = "edited"
        let other = try reader.insert(Content.self)
        other.name = "other"
        if policy == .error {
            let error = try #require(throws: TandemError.self) { try reader.save(policy: policy) }
            #expect(error.code == .conflict)
            let details = try #require(reader.details(of: error).first)
            #expect(details.object == ours.id && details.theirs == nil)
            #expect(ours.name == "edited" && ours.hasChanges && other.hasChanges)
            #expect(try names() == [])
            // Merging the deletion discards the edit.
            try reader.resume()
            #expect(ours.isDeleted && !ours.hasChanges)
        }
        try reader.save(policy: policy)
        #expect(ours.isDeleted && !reader.hasChanges)
        #expect(try names() == ["other"])
    }

    @Test(arguments: MergePolicy.allCases)
    func `a deletion of a changed object is resolved by the policy`(
        policy: MergePolicy
    ) throws {
        theirs.name = "changed"
        try writer.save()
        reader.delete(ours)
        if policy == .error {
            let error = #expect(throws: TandemError.self) { try reader.save(policy: policy) }
            #expect(error?.code == .conflict && ours.isDeleted && reader.hasChanges)
            reader.rollback()
            try reader.resume()
        } else {
            try reader.save(policy: policy)
        }
        let stays = [.error, .storeTrump, .rollback].contains(policy)
        #expect(!reader.hasChanges && ours.isDeleted == !stays)
        #expect(try names() == (stays ? ["changed"] : []))
        if stays { #expect(ours.name == "changed") }
    }

    @Test(arguments: MergePolicy.allCases)
    func `deletions on both sides cause no conflict`(policy: MergePolicy) throws {
        writer.delete(theirs)
        try writer.save()
        reader.delete(ours)
        try reader.save(policy: policy)
        #expect(ours.isDeleted && !reader.hasChanges)
    }

    @Test(arguments: MergePolicy.allCases)
    func `edits made while a save is in flight survive its conflict`(
        policy: MergePolicy
    ) async throws {
        theirs.name = "theirs"
        try await writer.save()
        ours.name = "ours"
        let reader = reader
        var isAnswered = false
        let save = Task { @MainActor in
            defer { isAnswered = true }
            return try await reader.save(policy: policy)
        }
        // On a busy machine the conflict and the edits may be back before the test looks.
        while reader.hasChanges && !isAnswered { await Task.yield() }
        ours.size = 7
        let outcome = await save.result
        if policy == .error {
            #expect(throws: TandemError.self) { try outcome.get() }
            #expect(ours.changedValues() == ["name": .string("ours"), "size": .int(7)])
        } else {
            _ = try outcome.get()
            #expect(ours.changedValues() == ["size": .int(7)])
        }
        // By now the context has merged the changes by others, so its save has no conflict.
        try await reader.resume()
        let end = try await reader.save(policy: .error)
        try await writer.reach(end)
        #expect(theirs.size == 7)
        let isTheirs = [.storeTrump, .rollback].contains(policy)
        #expect(theirs.name == (isTheirs ? "theirs" : "ours"))
    }

    @Test(arguments: MergePolicy.allCases)
    func `an amount added while a save is in flight is kept on top of it`(
        policy: MergePolicy
    ) async throws {
        for round in 1...20 {
            ours.size += 1
            let reader = reader
            let save = Task { @MainActor in try await reader.save(policy: policy) }
            while reader.hasChanges { await Task.yield() }
            ours.size += 1
            _ = try await save.value
            #expect(ours.size == 1 + 2 * round)
            try await reader.save(policy: policy)
        }
        try await writer.resume()
        #expect(theirs.size == 41)
    }
}
