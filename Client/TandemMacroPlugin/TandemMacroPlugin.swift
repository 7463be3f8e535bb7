#if Macros
import SwiftCompilerPlugin
import SwiftSyntaxMacros
import TandemMacros

/// The compiler's view of the macros.
@main struct TandemMacroPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        ContextActorMacro.self, ModelMacro.self, PropertyListMacro.self, PropertyMacro.self,
    ]
}

// The compiler looks for types of the plugin's own module.
final class ContextActorMacro: ContextActorExpansion {}
final class ModelMacro: ModelExpansion {}
final class PropertyListMacro: PropertyListExpansion {}
final class PropertyMacro: PropertyExpansion {}
#else
/// A program without macros, because the package's trait `Macros` is disabled.
@main enum TandemMacroPlugin {
    static func main() {}
}
#endif
