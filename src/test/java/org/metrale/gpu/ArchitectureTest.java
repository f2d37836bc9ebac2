package org.metrale.gpu;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.conditions.ArchConditions.haveSimpleNameEndingWith;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noMethods;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.lang.ref.Cleaner;
import java.time.Clock;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.Pointer;

/** Which part may use which, and how parts are named. */
@AnalyzeClasses(
    packages = {"org.metrale.gpu", "org.metrale.presets"},
    importOptions = ImportOption.DoNotIncludeTests.class)
final class ArchitectureTest {
  private static final String ROOT = "org.metrale.gpu";
  private static final String[] GENERATED = {
    "org.metrale.global..",
    "org.metrale.cuda..",
    "org.metrale.cufile..",
    "org.metrale.nccl..",
    "org.metrale.nvml..",
    "org.metrale.nvtx..",
    "org.metrale.verbs.."
  };

  /** What a library package may use besides the root, its own generated package and JavaCPP. */
  private static final Map<String, Set<String>> ALLOWED =
      Map.of(
          "cuda", Set.of(),
          "nccl", Set.of("cuda"),
          "nvml", Set.of("cuda"),
          "cufile", Set.of("cuda"),
          "verbs", Set.of("cuda"),
          "nvtx", Set.of(),
          "wire", Set.of(),
          "env", Set.of(),
          "rail", Set.of("wire", "verbs", "env"));

  /** Where a JavaCPP object may cross the public border. */
  private static final Set<String> DOORS = Set.of("of", "adopt", "borrow", "pointer");

  /** Closed by themselves, each with a reason. */
  private static final Map<String, String> OTHER_CLOSEABLES =
      Map.ofEntries(
          Map.entry(ROOT + ".cuda.CudaCalls$Address", "one address for the length of a call"),
          Map.entry(ROOT + ".nccl.NcclCalls$Address", "one address for the length of a call"),
          Map.entry(ROOT + ".nccl.GreetingInput", "reads from a socket of the JDK"),
          Map.entry(ROOT + ".nvml.NvmlCalls$Address", "one address for the length of a call"),
          Map.entry(
              ROOT + ".nvtx.NvtxRange",
              "must cost nothing without a tool, which owns what is behind it"),
          Map.entry(
              ROOT + ".nvtx.NvtxSpan",
              "must cost nothing without a tool, which owns what is behind it"),
          Map.entry(ROOT + ".rail.ChannelTransport", "closes a channel of the JDK"),
          Map.entry(ROOT + ".rail.SocketTransport", "closes a socket of the JDK"),
          Map.entry(ROOT + ".rail.StreamTransport", "closes streams of the JDK"),
          Map.entry(ROOT + ".verbs.RegionMemory$Place", "an address whose memory its region frees"),
          Map.entry(
              ROOT + ".verbs.VerbsCompletionQueue$Waiting", "one wait, which an interrupt closes"));

  @ArchTest
  static final ArchRule onlyCallsClassesCallGeneratedCode =
      noClasses()
          .that()
          .resideInAPackage(ROOT + "..")
          .and()
          .haveSimpleNameNotEndingWith("Calls")
          .should()
          .callCodeUnitWhere(
              JavaAccess.Predicates.target(
                  AccessTarget.Predicates.declaredIn(resideInAnyPackage(GENERATED))));

  @ArchTest
  static final ArchRule pointersCrossTheBorderAtDoorsOnly =
      methods()
          .that()
          .areDeclaredInClassesThat()
          .resideInAPackage(ROOT + "..")
          .and()
          .areDeclaredInClassesThat()
          .arePublic()
          .and(visible())
          .should(haveNoPointerInTheirSignature())
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule librariesDoNotUseEachOther =
      classes()
          .that()
          .resideInAPackage(ROOT + ".*..")
          .should(useOnlyWhatIsAllowed())
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule wireIsPure =
      noClasses()
          .that()
          .resideInAPackage(ROOT + ".wire..")
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("java.net..")
                  .or(assignableTo(Clock.class))
                  .or(not(resideInAnyPackage("java..", ROOT + ".wire.."))))
          .orShould()
          .dependOnClassesThat(assignableTo(System.Logger.class))
          .orShould()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .callMethod(Instant.class, "now")
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule rootUsesNoSubpackage =
      noClasses()
          .that()
          .resideInAPackage(ROOT)
          .should()
          .dependOnClassesThat()
          .resideInAPackage(ROOT + ".*..");

  @ArchTest
  static final ArchRule nothingUsesTheTool =
      noClasses()
          .that()
          .resideOutsideOfPackage(ROOT + ".tool..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage(ROOT + ".tool..");

  @ArchTest
  static final ArchRule packagesHaveNoCycles =
      slices().matching(ROOT + ".(*)..").should().beFreeOfCycles().allowEmptyShould(true);

  @ArchTest
  static final ArchRule callsAreStatelessAndHidden =
      classes()
          .that()
          .resideInAPackage(ROOT + "..")
          .and()
          .haveSimpleNameEndingWith("Calls")
          .should()
          .bePackagePrivate()
          .andShould()
          .haveModifier(JavaModifier.FINAL)
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule callsHaveStaticMethodsOnly =
      methods()
          .that()
          .areDeclaredInClassesThat(handwrittenCalls())
          .should()
          .beStatic()
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule callsHaveConstantsOnly =
      fields()
          .that()
          .areDeclaredInClassesThat(handwrittenCalls())
          .should()
          .beStatic()
          .andShould()
          .beFinal()
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule everythingThatClosesIsAResource =
      classes()
          .that()
          .resideInAPackage(ROOT + "..")
          .and()
          .areAssignableTo(AutoCloseable.class)
          .and()
          .areNotInterfaces()
          .and(not(named(OTHER_CLOSEABLES.keySet())))
          .should()
          .beAssignableTo(NativeResource.class);

  @ArchTest
  static final ArchRule resourcesAreMadeByFactories =
      classes()
          .that()
          .areAssignableTo(NativeResource.class)
          .and()
          .doNotHaveFullyQualifiedName(NativeResource.class.getName())
          .should()
          .haveModifier(JavaModifier.FINAL)
          .andShould(haveNoVisibleConstructor())
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule nothingIsFreedByTheCollector =
      noClasses()
          .that()
          .resideInAPackage(ROOT + "..")
          .and(not(named(Set.of(LeakReport.class.getName()))))
          .should()
          .dependOnClassesThat()
          .areAssignableTo(Cleaner.class);

  @ArchTest
  static final ArchRule nobodyFinalizes =
      noMethods()
          .that()
          .areDeclaredInClassesThat()
          .resideInAPackage(ROOT + "..")
          .should()
          .haveName("finalize");

  @ArchTest
  static final ArchRule exceptionsAreNamedAndRooted =
      classes()
          .that()
          .resideInAPackage(ROOT + "..")
          .and()
          .areAssignableTo(Throwable.class)
          .should(haveSimpleNameEndingWith("Exception"))
          .andShould()
          .beAssignableTo(
              assignableTo(GpuException.class).or(assignableTo(java.io.IOException.class)));

  @ArchTest
  static final ArchRule exceptionsDoNotChange =
      fields()
          .that()
          .areDeclaredInClassesThat(
              resideInAnyPackage(ROOT + "..").and(assignableTo(Throwable.class)))
          .should()
          .beFinal();

  @ArchTest
  static final ArchRule librariesNeitherPrintNorEnd =
      noClasses()
          .that()
          .resideInAPackage(ROOT + "..")
          .and()
          .resideOutsideOfPackage(ROOT + ".tool..")
          .should()
          .accessField(System.class, "out")
          .orShould()
          .accessField(System.class, "err")
          .orShould()
          .callMethod(System.class, "exit", int.class)
          .orShould()
          .callMethod(Runtime.class, "addShutdownHook", Thread.class)
          .orShould()
          .callMethod(Throwable.class, "printStackTrace")
          .orShould()
          .callMethod(Thread.class, "sleep", long.class)
          .orShould()
          .dependOnClassesThat()
          .resideInAPackage("sun.misc..");

  @ArchTest
  static final ArchRule onlyTheRootLoads =
      noClasses()
          .that()
          .resideInAPackage(ROOT + ".*..")
          .should()
          .dependOnClassesThat()
          .areAssignableTo(Loader.class)
          .orShould()
          .callMethod(System.class, "load", String.class)
          .orShould()
          .callMethod(System.class, "loadLibrary", String.class)
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule recipesUseJavacppOnly =
      classes()
          .that()
          .resideInAPackage("org.metrale.presets")
          .should()
          .onlyDependOnClassesThat(
              resideInAnyPackage(
                  "java..",
                  "org.metrale.presets",
                  "org.bytedeco.javacpp..",
                  "org.bytedeco.cuda.presets"));

  @ArchTest
  static final ArchRule noNameIsEmpty =
      noClasses()
          .that()
          .resideInAPackage(ROOT + "..")
          .should()
          .haveNameMatching(".*(Impl|Util|Utils|Helper|Manager)");

  @ArchTest
  static final ArchRule queriesHaveNoGet =
      noMethods()
          .that()
          .areDeclaredInClassesThat()
          .resideInAPackage(ROOT + "..")
          .and()
          .areDeclaredInClassesThat()
          .arePublic()
          .and(visible())
          .and()
          // The JDK's name for what an exception says.
          .doNotHaveName("getMessage")
          .should()
          .haveNameMatching("get[A-Z].*");

  private static DescribedPredicate<JavaClass> handwrittenCalls() {
    return DescribedPredicate.describe(
        "Calls classes",
        type -> type.getPackageName().startsWith(ROOT) && type.getSimpleName().endsWith("Calls"));
  }

  private static DescribedPredicate<JavaClass> named(Set<String> names) {
    return DescribedPredicate.describe("named " + names, type -> names.contains(type.getName()));
  }

  private static <T extends JavaCodeUnit> DescribedPredicate<T> visible() {
    return DescribedPredicate.describe(
        "public or protected",
        unit ->
            unit.getModifiers().contains(JavaModifier.PUBLIC)
                || unit.getModifiers().contains(JavaModifier.PROTECTED));
  }

  private static ArchCondition<JavaCodeUnit> haveNoPointerInTheirSignature() {
    return condition(
        "have no JavaCPP pointer in their signature",
        unit ->
            DOORS.contains(unit.getName())
                || Stream.concat(
                        Stream.of(unit.getRawReturnType()), unit.getRawParameterTypes().stream())
                    .noneMatch(type -> type.isAssignableTo(Pointer.class)));
  }

  private static ArchCondition<JavaClass> haveNoVisibleConstructor() {
    return condition(
        "have no public or protected constructor",
        type ->
            type.getConstructors().stream()
                .noneMatch(
                    one ->
                        one.getModifiers().contains(JavaModifier.PUBLIC)
                            || one.getModifiers().contains(JavaModifier.PROTECTED)));
  }

  private static ArchCondition<JavaClass> useOnlyWhatIsAllowed() {
    return condition(
        "use only the packages below them",
        type -> {
          Set<String> allowed = ALLOWED.get(area(type));
          return allowed == null
              || type.getDirectDependenciesFromSelf().stream()
                  .map(dependency -> area(dependency.getTargetClass()))
                  .allMatch(
                      area -> area.isEmpty() || area.equals(area(type)) || allowed.contains(area));
        });
  }

  /** The subpackage of the checked layer that a class belongs to, or an empty text. */
  private static String area(JavaClass type) {
    String name = type.getPackageName();
    return name.startsWith(ROOT + ".") ? name.substring(ROOT.length() + 1).split("\\.")[0] : "";
  }

  private static <T extends com.tngtech.archunit.core.domain.properties.HasName.AndFullName>
      ArchCondition<T> condition(String text, java.util.function.Predicate<T> holds) {
    return new ArchCondition<>(text) {
      @Override
      public void check(T item, ConditionEvents events) {
        events.add(
            new SimpleConditionEvent(
                item, holds.test(item), item.getFullName() + " does not " + text));
      }
    };
  }
}
