#if Macros
public import SwiftSyntax
import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// The expansion of `@ContextActor`: a container, a context and an initializer.
open class ContextActorExpansion: MemberMacro {
    /// Returns the members that the macro adds.
    public static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        var problems = Problems()
        defer { problems.emit(in: context) }
        guard let actor = declaration.as(ActorDeclSyntax.self) else {
            problems.report(
                "actor", at: declaration.introducer, "`@ContextActor` needs an actor; write `actor`"
            )
            return []
        }
        let names = actor.modifiers.map(\.name.text)
        let access = names.first { ["public", "package"].contains($0) }.map { $0 + " " } ?? ""
        let members = properties(of: actor, node, access, &problems)
        let hasInitializer = actor.memberBlock.members.contains {
            $0.decl.is(InitializerDeclSyntax.self)
        }
        return hasInitializer ? members : members + [initializer(access)]
    }

    private static func properties(
        of actor: ActorDeclSyntax, _ node: AttributeSyntax, _ access: String,
        _ problems: inout Problems
    ) -> [DeclSyntax] {
        let arguments = PropertyArguments(node, &problems)
        let name = arguments.value("name")?.trimmedDescription
        var list = ["name: \(name ?? "\"\(actor.name.plainText)\"")"]
        list += arguments.code(without: ["name"])
        return [
            "\(raw: access)nonisolated let container: PersistentContainer",
            "private var madeContext: ManagedObjectContext?",
            """
            \(raw: access)var context: ManagedObjectContext {
                if let madeContext {
                    return madeContext
                }
                let context = container.makeContext(\(raw: list.joined(separator: ", ")))
                madeContext = context
                return context
            }
            """,
        ]
    }

    private static func initializer(_ access: String) -> DeclSyntax {
        """
        \(raw: access)init(container: PersistentContainer) {
            self.container = container
        }
        """
    }
}
#endif
