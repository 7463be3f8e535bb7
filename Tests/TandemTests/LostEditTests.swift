import Tandem
import TandemModel
import TestSupport
import Testing

@testable import Tandem

/// Edits that would be lost trap with a message.
@MainActor @Suite struct LostEditTests {
    private func message(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }

    @Test func `an object that was deleted and saved is not edited`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let context = try FakeDaemon(buckets).container().makeContext(name: "test")
                let content = try context.insert(Content.self)
                try context.save()
                context.delete(content)
                try context.save()
                content.name = "zombie"
            }
        }
        #expect(message(result).contains("was deleted, so an edit would be lost"))
    }

    @Test func `an object that the next save deletes is not edited`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let context = try FakeDaemon(buckets).container().makeContext(name: "test")
                let bucket = try context.insert(Bucket.self)
                try context.save()
                context.delete(bucket)
                bucket.add(try context.insert(Content.self), to: "contents")
            }
        }
        #expect(message(result).contains("was deleted, so an edit would be lost"))
    }

    @Test func `an object that others deleted is not edited`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let daemon = try FakeDaemon(buckets)
                let context = daemon.container().makeContext(name: "test")
                let content = daemon.insert("Content", [:])
                guard let object = try context.fetch(Content.self).first else { return }
                daemon.delete(content)
                try context.reach(daemon.end)
                object.size += 1
            }
        }
        #expect(message(result).contains("was deleted, so an edit would be lost"))
    }

    @Test func `an object whose insert the parent rolled back is not edited in the child`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let parent = try FakeDaemon(buckets).container().makeContext(name: "parent")
                let content = try parent.insert(Content.self)
                let child = parent.makeChild(name: "child")
                guard let mine = try child.object(with: content.id) as? Content else { return }
                mine.size = 3
                parent.rollback()
                mine.name = "late"
            }
        }
        #expect(message(result).contains("was deleted, so an edit would be lost"))
    }

    @Test func `an object without its context is not edited`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let content: Content
                do {
                    let context = try FakeDaemon(buckets).container().makeContext(name: "gone")
                    content = try context.insert(Content.self)
                }
                content.name = "lost"
            }
        }
        #expect(message(result).contains("The context of Content/1 is gone"))
    }

    @Test func `no relationship can be set to a deleted object`() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try await MainActor.run {
                let context = try FakeDaemon(buckets).container().makeContext(name: "test")
                let (bucket, content) = (
                    try context.insert(Bucket.self), try context.insert(Content.self)
                )
                try context.save()
                context.delete(content)
                bucket.contents.insert(content)
            }
        }
        #expect(message(result).contains("was deleted, so nothing can refer to it"))
    }

    @Test func `a deleted object can be read, and edited after the deletion is undone`() throws {
        let context = try FakeDaemon(buckets).container().makeContext(name: "test")
        context.allowsUndo = true
        let bucket = try context.insert(Bucket.self)
        let content = try context.insert(Content.self)
        content.name = "kept"
        bucket.contents = [content]
        try context.save()
        #expect(bucket.contents == [content])
        context.delete(bucket)
        #expect(bucket.isDeleted && content.isDeleted && content.name == "kept")
        context.undo()
        content.name = "edited"
        bucket.contents.insert(try context.insert(Content.self))
        #expect(!content.isDeleted && content.name == "edited" && bucket.contents.count == 2)
        context.delete(content)
        try context.save()
        #expect(content.isDeleted)
        _ = (content.name, content.bucket, bucket.contents)
    }

    @Test func `an object without its context can be read`() throws {
        let content: Content
        do {
            let context = try FakeDaemon(buckets).container().makeContext(name: "gone")
            content = try context.insert(Content.self)
        }
        #expect(content.managedObjectContext == nil)
        _ = (content.name, content.bucket, content.isDeleted)
    }

    @Test
    func `an edit of an object that others deleted is a conflict until the deletion is merged`()
        throws
    {
        let daemon = try FakeDaemon(buckets)
        let context = daemon.container().makeContext(name: "test")
        let content = daemon.insert("Content", [:])
        let object = try #require(try context.fetch(Content.self).first)
        daemon.delete(content)
        object.size += 1
        #expect(object.size == 1 && context.hasChanges)
    }

    /// A deletion that is merged by a read of the edited property, in the same expression.
    @Test(arguments: [MergePolicy.error, .objectTrump])
    func `an edit whose own read merges the deletion is a conflict`(policy: MergePolicy) throws {
        let fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "writer")
        let (bucket, content) = (try writer.insert(Bucket.self), try writer.insert(Content.self))
        try writer.save()
        let context = fixture.container("reader").makeContext(name: "reader")
        let object = try #require(try context.existingObject(with: content.id) as? Content)
        let other = try #require(try context.existingObject(with: bucket.id) as? Bucket)
        context.refresh(object, mergeChanges: true)
        writer.delete(content)
        try writer.save()
        object.size += 1
        other.contents.insert(object)
        #expect(object.isDeleted && object.size == 0 && other.contents.isEmpty)
        other.name = "kept"
        #expect(context.hasChanges)
        if policy == .error {
            let error = #expect(throws: TandemError.self) { try context.save(policy: policy) }
            #expect(error?.code == .conflict && error?.conflicts.count == 1)
            #expect(error?.message.contains("others deleted \(content.id)") == true)
            #expect(error.map { context.details(of: $0).map(\.object) } == [content.id])
        }
        try context.save(policy: policy)
        #expect(!context.hasChanges)
        try writer.reach(try #require(context.position))
        #expect(bucket.name == "kept")
    }
}
